"""One checkpoint folder: staged, described by its manifest, renamed into place, found again, deleted."""
