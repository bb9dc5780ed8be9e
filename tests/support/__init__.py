"""What several test folders share: one synth, templates that are resolved, and checks on state machines."""
