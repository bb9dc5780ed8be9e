"""Errors named for deciding."""


class Overtaken(Exception):
    """Others kept writing the same object while we tried to."""


class PumpFailed(Exception):
    """Some file systems could not be served in this round; the others were."""


class SweepFailed(Exception):
    """Some file systems could not be looked after in this round; the others were."""


class RereadFailed(Exception):
    """Some checkpoints could not be read again; the message names them."""
