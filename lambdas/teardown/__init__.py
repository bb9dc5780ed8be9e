"""Asked while a run's checkpoints are proven and its file system goes."""
