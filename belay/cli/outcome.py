"""How a command ends. The numbers are part of its interface: scripts decide by them."""

from enum import IntEnum

from belay.contract.verdict import Durability, Training, Verdict


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    JOB_REFUSED = 3
    NOT_FOUND = 4
    NOT_TRAINED = 5
    NOT_SAFE = 6
    DAMAGED = 7
    FINDINGS = 8
    INTERRUPTED = 130


MEANINGS = {
    Exit.OK: "done; for a run that was followed: trained, and its checkpoints are safe",
    Exit.FAILED: "AWS or this machine refused something; the message says what",
    Exit.USAGE: "the command line itself is wrong",
    Exit.JOB_REFUSED: "the job file has faults; nothing was started",
    Exit.NOT_FOUND: "there is no such run, checkpoint or deployment",
    Exit.NOT_TRAINED: "training did not complete; what it had saved is safe",
    Exit.NOT_SAFE: "not every checkpoint is proven in S3: the file system is kept, or was lost",
    Exit.DAMAGED: "a checkpoint is not what its manifest says",
    Exit.FINDINGS: "something was found that needs a person",
    Exit.INTERRUPTED: "Ctrl-C, or no to a question; a run that was watched goes on",
}


class Refused(Exception):
    """A command cannot do what it was asked; the message says why and what to do instead."""

    def __init__(self, message: str, exit: Exit = Exit.FAILED) -> None:
        super().__init__(message)
        self.exit = exit


def of_verdict(verdict: Verdict) -> Exit:
    if verdict.durability not in (Durability.VERIFIED, Durability.NOTHING_SAVED):
        return Exit.NOT_SAFE
    return Exit.OK if verdict.training is Training.COMPLETED else Exit.NOT_TRAINED
