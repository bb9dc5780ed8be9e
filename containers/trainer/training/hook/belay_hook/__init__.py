"""Makes any Trainer in this process save into the run's checkpoints, resume from them, and report."""
