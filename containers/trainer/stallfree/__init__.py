"""Checkpoints of a Hugging Face Trainer that are whole or not there.

    from stallfree.callback import Stallfree
    Trainer(..., callbacks=[Stallfree()])
"""
