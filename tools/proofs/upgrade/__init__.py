"""A new version beneath living runs: recordings of the versions before, and how their runs go on with this one."""
