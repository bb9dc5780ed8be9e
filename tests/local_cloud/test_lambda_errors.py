"""The class of a Lambda's exception, read from the traceback in its log."""

from __future__ import annotations

from local_cloud.platform.lambdas import explain

LOG = """START
{"level": "INFO"}
Traceback (most recent call last):
  File "/var/task/probe.py", line 18, in handler
    raise JobRefused(event["refuse"])
contract.job.JobRefused: scratch.gib: 1000 is not a size
stepz: unknown
"""


def test_the_class_and_the_frames_are_found_whatever_the_message() -> None:
    found = explain(LOG, message="scratch.gib: 1000 is not a size\nstepz: unknown")
    assert found["errorType"] == "JobRefused"
    assert found["stackTrace"] == [
        '  File "/var/task/probe.py", line 18, in handler\n    raise JobRefused(event["refuse"])'
    ]


def test_an_error_without_a_message_has_its_class() -> None:
    assert explain("Traceback (most recent call last):\nKeyError\n", message="")["errorType"] == "KeyError"


def test_a_log_without_a_traceback_says_nothing() -> None:
    assert explain("Task timed out", message="Task timed out") == {"stackTrace": []}
