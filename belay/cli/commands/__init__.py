"""One module for each group of verbs."""
