"""The outcome of one run, looked up through public APIs, and which promises it breaks."""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from belay.client import checkpoints
from belay.client.checkpoints import CheckpointDamaged, NoCheckpoint
from belay.contract.certificate import Certificate
from belay.contract.events import AnyEvent, Finished, Removed, Saved
from belay.contract.paths import RunPrefix
from belay.contract.verdict import Durability, Training


@dataclass(frozen=True)
class Outcome:
    """`file_systems`: those that exist in the end; `tasks`: how many still run; `kept`: while the fault lasted."""

    status: str
    error: str
    certificate: Certificate | None
    events: list[AnyEvent]
    whole: frozenset[int]
    file_systems: list[str]
    tasks: int
    accepted: bool
    injected: bool
    kept: bool
    seconds: float
    broken: list[str] = field(default_factory=list)

    @property
    def saved(self) -> set[int]:
        """The steps that training logged as saved, and not as removed."""
        steps: set[int] = set()
        for event in self.events:
            if isinstance(event, Saved):
                steps.add(event.step)
            elif isinstance(event, Removed):
                steps.discard(event.step)
        return steps

    @property
    def finished(self) -> bool:
        return any(isinstance(event, Finished) for event in self.events)


def whole_in_s3(s3: object, *, bucket: str, prefix: RunPrefix, steps: set[int]) -> frozenset[int]:
    """The steps whose files were downloaded and agree with their checksums, whatever the ledger says."""
    whole = set()
    for step in steps:
        with tempfile.TemporaryDirectory() as folder:
            try:
                checkpoints.get(s3, bucket=bucket, prefix=prefix, step=step, into=Path(folder))
            except (CheckpointDamaged, NoCheckpoint):
                continue
            except Exception as error:
                if "NoSuchKey" not in type(error).__name__ + str(error):
                    raise
                continue
        whole.add(step)
    return frozenset(whole)


def broken_promises(one: Outcome) -> list[str]:
    """Promises 1 to 3 (page.py), checked against what exists in the end. Empty: they hold."""
    broken = []
    lost = one.saved - one.whole
    if lost and not one.file_systems:
        broken.append(f"1: saved at {sorted(lost)}, deleted, and not whole in S3")
    if one.file_systems:
        broken.append("2: its file system is left behind")
    if one.tasks:
        broken.append("2: its task is left behind")
    return broken + [f"3: {false}" for false in _false_statements(one, lost)]


def _false_statements(one: Outcome, lost: set[int]) -> list[str]:
    certificate = one.certificate
    found = []
    if one.status == "SUCCEEDED" and (lost or not one.finished):
        found.append("the execution succeeded, and training or its checkpoints did not")
    if certificate is None:
        return [*found, "no certificate"] if one.accepted else found
    verdict = certificate.verdict
    if one.status == "FAILED" and one.finished and not one.error.startswith("TrainingCompleted"):
        found.append(f"training completed, and the execution failed as {one.error}")
    if verdict.durability is Durability.VERIFIED and lost:
        found.append(f"certified as verified, but {sorted(lost)} is not in S3")
    if verdict.durability is Durability.NOTHING_SAVED and one.saved:
        found.append("certified as nothing saved, but something was")
    if verdict.durability is Durability.LOST and not lost:
        found.append("certified as lost, but everything is in S3")
    if verdict.durability is Durability.KEPT and not one.file_systems:
        found.append("certified as kept, but the file system is gone")
    if verdict.training is Training.COMPLETED and not one.finished:
        found.append("certified as completed, but training did not finish")
    if verdict.last_verified_step is not None and verdict.last_verified_step not in one.whole:
        found.append(f"step {verdict.last_verified_step} is certified, but not whole in S3")
    return found
