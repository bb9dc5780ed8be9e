"""Each day: are checkpoints that were proven long ago still whole in S3? A part of them is read again, byte by byte."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from belay.aws import clock, ledgers, notices
from belay.aws.bucket import Bucket, Document
from belay.aws.clients import CONNECTIONS, client
from belay.aws.environment import Environment
from belay.aws.exceptions import RereadFailed
from belay.aws.rereading import Reader, Reading
from belay.aws.telemetry import logger, metrics, tracer
from belay.contract.ledger import Ledger
from belay.contract.paths import JOBS, RunPrefix
from belay.contract.reread import REREAD, Place, Reread
from belay.contract.run import RUN
from belay.policy import rereading
from belay.policy.rereading import Proven

# What is left to write down what was found.
_RESERVE_MILLISECONDS = 60_000
_BYTES_IN_A_GIB = 1024**3


class Settings(Environment):
    bucket: str
    notices_topic_arn: str
    reread_gib_a_day: int

    @property
    def most_bytes(self) -> int:
        return self.reread_gib_a_day * _BYTES_IN_A_GIB


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
@tracer.capture_lambda_handler
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    bucket = Bucket(client("s3"), settings.bucket)
    reader = Reader(
        bucket,
        most_bytes=settings.most_bytes,
        has_time=lambda: context.get_remaining_time_in_millis() > _RESERVE_MILLISECONDS,
    )
    before = bucket.read(REREAD)
    goes_on_at, stopped_at = _stopped_at(before), None
    failed: list[str] = []
    proven = list(_proven(bucket, failed))
    damaged = {one.name for one in proven if one.entry.damage}
    count = 0
    for one in rereading.due(proven, goes_on_at, clock.now()):
        if not reader.may_go_on:
            break
        try:
            found = reader.read(one, goes_on_at if goes_on_at and one.has(goes_on_at) else None)
            stopped_at = found.stopped_at
            if stopped_at:
                break
            count += not found.is_unchanged
            _write_down(bucket, one, found, settings)
            damaged = damaged | {one.name} if found.problem else damaged - {one.name}
        except Exception as error:
            # One checkpoint's trouble must not keep the others; the round ends as an error all the same.
            logger.exception("could not read a checkpoint again", extra={"checkpoint": one.name})
            failed.append(f"{one.name}: {error}")
    round_ = Reread(
        at=clock.now(),
        read_bytes=reader.read_bytes,
        checkpoints=count,
        damaged=sorted(damaged),
        stopped_at=stopped_at,
    )
    logger.info("read again", extra=round_.model_dump(mode="json"))
    # Another round that ran meanwhile has written down where it stopped, and what it found stands in the ledgers.
    bucket.write_if(REREAD, round_.model_dump_json(indent=1).encode(), before.etag if before else None)
    metrics.add_metric(name="DamagedCheckpoints", unit=MetricUnit.Count, value=len(damaged))
    metrics.add_metric(name="RereadBytes", unit=MetricUnit.Bytes, value=reader.read_bytes)
    if failed:
        raise RereadFailed("; ".join(failed))
    return round_.model_dump(mode="json")


def _stopped_at(document: Document | None) -> Place | None:
    try:
        return Reread.model_validate_json(document.body).stopped_at if document else None
    except ValidationError:
        # Of another version: a checkpoint is read from its beginning.
        return None


def _proven(bucket: Bucket, failed: list[str]) -> Iterator[Proven]:
    """Of every run that has a ledger."""
    runs = [
        RunPrefix(job, run)
        for job in bucket.folders(JOBS)
        for run in bucket.folders(f"{JOBS}{job}/")
        if RUN.fullmatch(run)
    ]

    def read(prefix: RunPrefix) -> Ledger | Exception:
        try:
            return ledgers.read(bucket, prefix)
        except Exception as error:
            return error

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for prefix, ledger in zip(runs, pool.map(read, runs), strict=True):
            if isinstance(ledger, Exception):
                failed.append(f"{prefix.ledger}: {ledger}")
            else:
                yield from (Proven(prefix, entry) for entry in ledger.entries if entry.verified_at)


def _write_down(bucket: Bucket, one: Proven, found: Reading, settings: Settings) -> None:
    if found.is_unchanged:
        return
    step, save = one.entry.step, one.entry.manifest_crc64nvme
    ledger = ledgers.record_reading(bucket, one.prefix, step, save, found.problem, clock.now())
    if found.problem and not one.entry.damage:
        notice = rereading.notice(one, found.problem, ledger.last_verified_step)
        notices.tell(client("sns"), settings.notices_topic_arn, notice)
