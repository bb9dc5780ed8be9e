"""Looks at runs, as the tests need them."""

from datetime import UTC, datetime, timedelta

from belay.contract.certificate import Certificate, CertifiedCheckpoint, FileSystemEnd
from belay.contract.deployment import Deployment, Tasks
from belay.contract.events import Saved, Step
from belay.contract.ledger import LedgerEntry, Proof
from belay.contract.prices import Prices
from belay.contract.verdict import Durability, Training, Verdict

_STATES = "arn:aws:states:us-east-1:123456789012:stateMachine"
DEPLOYED = Deployment(
    belay_version="0.2.0",
    name="belay",
    bucket="bucket",
    train_machine_arn=f"{_STATES}:belay-train",
    teardown_machine_arn=f"{_STATES}:belay-teardown",
    trainer_log_group="trainer-log",
    tasks=Tasks(cluster_arn="arn:aws:ecs:us-east-1:123456789012:cluster/BelayTraining-Compute", family="belay-trainer"),
    instance_type="g6.xlarge",
    availability_zone="us-east-1a",
    prices=Prices(instance_hour=4.0),
    notices_topic_arn="arn:aws:sns:us-east-1:123456789012:notices",
    dashboard_url="https://us-east-1.console.aws.amazon.com/cloudwatch/home#dashboards/dashboard/belay",
)
START = datetime(2026, 11, 21, 2, 44, 55, tzinfo=UTC)
RUN = "20261121t024455z-3f9a2c1b"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def step(number: int, *, seconds: float, loss: float | None = None, attempt: int = 1) -> Step:
    return Step(at=at(seconds), run=RUN, attempt=attempt, step=number, total_steps=100, loss=loss)


def saved(number: int, *, seconds: float, attempt: int = 1, stall_seconds: float = 0.0034) -> Saved:
    return Saved(
        at=at(seconds),
        run=RUN,
        attempt=attempt,
        step=number,
        path=f"run/checkpoints/checkpoint-{number}",
        files=9,
        bytes=1_234_567,
        stall_seconds=stall_seconds,
        durable_seconds=0.2,
        manifest_crc64nvme="AAAAAAAAAAA=",
    )


def certificate(
    training: Training,
    durability: Durability,
    *entries: LedgerEntry,
    last_verified_step: int | None = None,
) -> Certificate:
    """The last verified step is that of the entries; the one given, where there are none."""
    newest = max((entry.step for entry in entries if entry.verified_at), default=last_verified_step)
    where = "s3://bucket/jobs/digits/run/checkpoints/"
    verdict = Verdict(
        training=training, durability=durability, reason="exit code 137", last_verified_step=newest, where=where
    )
    return Certificate(
        run=RUN,
        job="digits",
        execution_arn="arn:aws:states:us-east-1:123456789012:execution:belay-train:one",
        started_at=START,
        certified_at=at(60),
        verdict=verdict,
        sentence=verdict.sentence,
        checkpoints=[CertifiedCheckpoint(**entry.model_dump()) for entry in entries],
        file_system=FileSystemEnd(id="fs-1", fate="kept" if durability is Durability.KEPT else "deleted"),
    )


def proven(number: int, *, seconds: float) -> LedgerEntry:
    return LedgerEntry(step=number, verified_at=at(seconds), proof=Proof.CRC64NVME, files=9, bytes=1_234_567)
