"""What became of one run, looked up by anyone's means; and whether the promises hold in it."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from client import checkpoints
from client.checkpoints import CheckpointDamaged
from contract.certificate import Certificate
from contract.events import AnyEvent, Finished, Removed, Saved
from contract.paths import RunPrefix
from contract.verdict import Durability, Training


@dataclass(frozen=True)
class Outcome:
    """`standing`: file systems that are there in the end; `kept`: it was kept while the fault lasted."""

    status: str
    error: str
    certificate: Certificate | None
    events: list[AnyEvent]
    whole: frozenset[int]
    standing: list[str]
    tasks: int
    accepted: bool
    struck: bool
    kept: bool
    seconds: float
    broken: list[str] = field(default_factory=list)

    @property
    def saved(self) -> set[int]:
        """The steps that training announced as whole on its file system, and did not remove again."""
        standing: set[int] = set()
        for event in self.events:
            if isinstance(event, Saved):
                standing.add(event.step)
            elif isinstance(event, Removed):
                standing.discard(event.step)
        return standing

    @property
    def finished(self) -> bool:
        return any(isinstance(event, Finished) for event in self.events)


def proven(s3: object, *, bucket: str, prefix: RunPrefix, steps: set[int]) -> frozenset[int]:
    """Brought home file by file, each compared with its checksum: not what any record says of them."""
    whole = set()
    for step in steps:
        with tempfile.TemporaryDirectory() as folder:
            try:
                checkpoints.get(s3, bucket=bucket, prefix=prefix, step=step, into=Path(folder))
            except CheckpointDamaged:
                continue
            except Exception as error:
                if "NoSuchKey" not in type(error).__name__ + str(error):
                    raise
                continue
        whole.add(step)
    return frozenset(whole)


def broken_promises(one: Outcome) -> list[str]:
    """Promises 1 to 3 as questions to what is there in the end. Empty: they hold."""
    broken = []
    lost = one.saved - one.whole
    if lost and not one.standing:
        broken.append(f"1: saved at {sorted(lost)}, deleted, and not whole in S3")
    if one.standing:
        broken.append("2: its file system is left behind")
    if one.tasks:
        broken.append("2: its task is left behind")
    return broken + [f"3: {lie}" for lie in _lies(one, lost)]


def _lies(one: Outcome, lost: set[int]) -> list[str]:
    told = one.certificate
    lies = []
    if one.status == "SUCCEEDED" and (lost or not one.finished):
        lies.append("the execution succeeded, and training or its checkpoints did not")
    if told is None:
        return [*lies, "no certificate"] if one.accepted else lies
    verdict = told.verdict
    if one.status == "FAILED" and one.finished and not one.error.startswith("TrainingCompleted"):
        lies.append(f"training completed, and the execution failed as {one.error}")
    if verdict.durability is Durability.VERIFIED and lost:
        lies.append(f"certified as verified, but {sorted(lost)} is not in S3")
    if verdict.durability is Durability.NOTHING_SAVED and one.saved:
        lies.append("certified as nothing saved, but something was")
    if verdict.durability is Durability.LOST and not lost:
        lies.append("certified as lost, but everything is in S3")
    if verdict.durability is Durability.KEPT and not one.standing:
        lies.append("certified as kept, but the file system is gone")
    if verdict.training is Training.COMPLETED and not one.finished:
        lies.append("certified as completed, but training did not finish")
    if verdict.last_verified_step is not None and verdict.last_verified_step not in one.whole:
        lies.append(f"step {verdict.last_verified_step} is certified, but not whole in S3")
    return lies
