"""The command line: what a person types, and what it answers. docs/cli.md is made from it."""
