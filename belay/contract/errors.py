"""Errors that a Lambda or a flow ends with, and another part decides by. `JobRefused` stands in faults.py.

The error of a Lambda has the name of its class.
"""

RUN_STILL_ALIVE = "RunStillAlive"
"""Teardown was asked for a run that still trains."""


class ServiceAway(Exception):
    """A service of AWS did not answer, or answered with an error of its own."""


class FileSystemGone(Exception):
    """The file system that was to be marked is gone."""
