"""Where a run's time went, and how much of it bought steps that are kept. Pure; docs/goodput.md has the definitions."""
