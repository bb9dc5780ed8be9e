"""One call of `Trainer.train`: when to save, when to stop, and what is left to do at its end."""
