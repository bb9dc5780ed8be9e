"""Makes any Trainer in this process save into the run's checkpoints, resume from them, and report.

Of Belay only this package is in a user's process. It imports stallfree, and nothing of the entry point or the contract.
"""
