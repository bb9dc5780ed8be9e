"""The class of a Lambda's exception, read from the traceback in its log."""

from __future__ import annotations

from tools.local_cloud.platform.lambdas import error_of

LOG = """START
{"level": "INFO"}
Traceback (most recent call last):
  File "/var/task/probe.py", line 18, in handler
    raise JobRefused(event["refuse"])
belay.contract.job.JobRefused: scratch.gib: 1000 is not a size
stepz: unknown
"""


def test_the_class_and_the_frames_are_found_whatever_the_message() -> None:
    found = error_of(LOG, message="scratch.gib: 1000 is not a size\nstepz: unknown")
    assert found["errorType"] == "JobRefused"
    assert found["stackTrace"] == [
        '  File "/var/task/probe.py", line 18, in handler\n    raise JobRefused(event["refuse"])'
    ]


def test_an_error_without_a_message_has_its_class() -> None:
    assert error_of("Traceback (most recent call last):\nKeyError\n", message="")["errorType"] == "KeyError"


def test_a_log_without_a_traceback_gives_no_error_type() -> None:
    assert error_of("Task timed out", message="Task timed out") == {"stackTrace": []}
