"""The private names of other libraries that this one uses, in one table."""
