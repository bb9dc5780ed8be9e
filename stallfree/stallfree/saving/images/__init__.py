"""File images: memory that is laid out as the files which it becomes."""
