"""Checkpoints of a Hugging Face Trainer that are whole or not there.

`Trainer(..., callbacks=[Stallfree()])` is all it takes; see stallfree.callback.
"""
