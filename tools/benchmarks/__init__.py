"""Commands that measure and print a table; each also writes build/figures/<name>.json."""
