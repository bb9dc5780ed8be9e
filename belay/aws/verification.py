"""The proof before a file system may go: everything that was finished on it is whole in S3."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from belay.aws import checkpoints, ledgers
from belay.aws.bucket import Bucket
from belay.aws.checkpoints import Objects
from belay.aws.clients import CONNECTIONS
from belay.contract.events import Saved
from belay.contract.ledger import Ledger
from belay.contract.paths import RunPrefix
from belay.policy.ledgers import Finding
from belay.policy.trainer_log import Source, TrainerLog


@dataclass(frozen=True)
class Verification:
    ledger: Ledger
    expected: list[Finding]
    source: Source
    exported: bool

    @property
    def missing(self) -> list[str]:
        return [f"checkpoint-{one.step}: {one.problem}" for one in self.expected if not one.is_whole]

    @property
    def is_whole(self) -> bool:
        """Whether the file system may go."""
        if self.missing:
            return False
        # What the trainer said may lack its last line, and what S3 holds cannot say what it lacks: only an export task
        # that came to its end has looked at the file system itself. Without one, nothing is proven but silence: a
        # trainer whose log can be read and who never spoke has made no folder that could be exported.
        return self.exported or (self.source == "silent" and not self.expected)


def verify(bucket: Bucket, prefix: RunPrefix, log: TrainerLog, *, exported: bool, now: datetime) -> Verification:
    """Prove everything that the trainer or S3 names, and write it down."""
    saves, removed = log.current_saves, log.removed
    in_s3 = checkpoints.stored(bucket, prefix)
    known = ledgers.read(bucket, prefix)
    verified = {entry.step for entry in known.entries if entry.verified_at}
    # A checkpoint that the trainer rotated away while it was being exported may be partial in S3: no loss, a newer
    # one stands. If it came over whole, that is worth a line in the ledger.
    left_over = (in_s3.keys() & removed) - verified
    expected = saves.keys() | (in_s3.keys() - removed)
    findings = _prove(bucket, {step: in_s3.get(step, {}) for step in expected}, saves)
    extra = _prove(bucket, {step: in_s3[step] for step in left_over}, {})
    ledger = ledgers.record(bucket, prefix, [*findings, *extra], saves, removed, now)
    return Verification(ledger, findings, log.source, exported)


def prove_some(bucket: Bucket, prefix: RunPrefix, saves: Mapping[int, Saved]) -> list[Finding]:
    """Compare only these saves with S3, while the run goes on."""
    return _prove(bucket, {step: checkpoints.stored_of(bucket, prefix, step) for step in saves}, saves)


def _prove(bucket: Bucket, folders: Mapping[int, Objects], saves: Mapping[int, Saved]) -> list[Finding]:
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return [
            checkpoints.prove(
                bucket, step, folders[step], pool, save=saves[step].manifest_crc64nvme if step in saves else None
            )
            for step in sorted(folders)
        ]
