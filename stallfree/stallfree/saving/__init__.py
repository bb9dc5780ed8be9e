"""From the Trainer to the disk: savers, and what the overlapped one is made of."""
