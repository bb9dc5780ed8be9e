"""The objects in S3 with their content: checkpoints, and the lines of the trainer's log."""

from datetime import UTC, datetime, timedelta
from functools import cache

from belay.contract.events import Failed, Finished, Saved, Started
from belay.contract.paths import MANIFEST, RunPrefix
from belay.contract.run import execution_digest, run_id
from tools.proofs.fakes.world import checksum, manifest_of
from tools.proofs.model.values import Frozen

ACCOUNT = "123456789012"
BUCKET = "belay-runs"
JOB = "digits"
STARTED_AT = datetime(2026, 11, 21, 2, 44, 55, 123000, tzinfo=UTC)
NOW = STARTED_AT + timedelta(hours=1)
TRAIN = f"arn:aws:states:us-east-1:{ACCOUNT}:execution:belay-train:first"
TRAINS = f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:belay-train"
TEARDOWNS = f"arn:aws:states:us-east-1:{ACCOUNT}:stateMachine:belay-teardown"
RUN = run_id(TRAIN, STARTED_AT)
DIGEST = execution_digest(TRAIN)
PREFIX = RunPrefix(JOB, RUN)


@cache
def checkpoint(step: int) -> Frozen:
    """The objects of one whole checkpoint, by key."""
    files = {"model.safetensors": b"weights %d" % step, "optimizer.pt": b"moments %d" % step}
    manifest = manifest_of(step, files, _at(step))
    folder = PREFIX.checkpoint(step)
    return Frozen({f"{folder}{MANIFEST}": manifest} | {f"{folder}{path}": body for path, body in files.items()})


def is_whole(s3: Frozen, step: int) -> bool:
    return checkpoint(step).items() <= s3.items()


def exported(s3: Frozen, steps: int, events: tuple[str, ...], *, without_manifest_of: int = 0) -> Frozen:
    """S3 after an export of the first `steps` checkpoints; one of them may be incomplete."""
    made = dict(s3)
    for step in range(1, steps + 1):
        made |= checkpoint(step)
        if step == without_manifest_of and step and not is_whole(s3, step):
            del made[PREFIX.manifest(step)]
    if events:
        made[PREFIX.trainer_events] = "".join(f"{line}\n" for line in events).encode()
    return Frozen(made)


# ---- lines of the trainer's log


@cache
def started() -> str:
    return Started(at=_at(0), run=RUN, attempt=1, job=JOB, processes=1).line()


@cache
def saved(step: int) -> str:
    manifest = checkpoint(step)[PREFIX.manifest(step)]
    return Saved(
        at=_at(step),
        run=RUN,
        attempt=1,
        step=step,
        path=f"/fsx/run/checkpoints/checkpoint-{step}",
        files=2,
        bytes=18,
        stall_seconds=0.01,
        durable_seconds=1.0,
        manifest_crc64nvme=checksum(manifest),
    ).line()


@cache
def finished() -> str:
    return Finished(at=_at(30), run=RUN, attempt=1, step=9).line()


@cache
def failed() -> str:
    return Failed(at=_at(30), run=RUN, attempt=1, exit_code=1, reason="it crashed").line()


def _at(minute: int) -> datetime:
    return STARTED_AT + timedelta(minutes=1 + minute)
