"""Every fault at every state, for real, on one local cloud: what becomes of training, checkpoints and file system."""
