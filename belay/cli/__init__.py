"""The command line: what a person types, and what it prints. docs/cli.md is made from it."""
