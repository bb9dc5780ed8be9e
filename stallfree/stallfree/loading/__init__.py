"""From the disk to the Trainer: which checkpoint, and every weight of it."""
