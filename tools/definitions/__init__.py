"""Reads synthesized templates and state machines, and checks the rules for both flows."""
