"""The trainer's log in CloudWatch, and the events file that exports bring to S3."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from botocore.exceptions import ClientError

from belay.aws.bucket import Bucket
from belay.aws.clients import error_code
from belay.aws.telemetry import logger
from belay.contract.events import Step
from belay.contract.paths import RunPrefix
from belay.contract.run import started_at_of
from belay.policy.trainer_log import (
    CLOCK_SKEW,
    KINDS,
    Line,
    TrainerLog,
    in_order,
    lines_of_run,
    may_be_relevant,
    parsed,
    steps_in,
)

# What one call of FilterLogEvents may name.
_MOST_STREAMS = 100
# The newest part of a very long run's event file: what it said last is what still matters.
MOST_EVENT_BYTES = 64 * 1024 * 1024


def read(logs: Any, *, group: str, run: str) -> TrainerLog:
    since = started_at_of(run) - CLOCK_SKEW
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=group, startTime=int(since.timestamp() * 1000), filterPattern=_pattern(run)
    )
    try:
        raws = [(raw["logStreamName"], raw["message"]) for page in pages for raw in page["events"]]
    except ClientError as error:
        if error_code(error) == "ResourceNotFoundException":
            return TrainerLog("s3-only")
        raise
    own = lines_of_run(raws, run)
    lines = in_order(_lines(text for _, text in own), run)
    return TrainerLog("log" if lines else "silent", lines, frozenset(stream for stream, _ in own))


def with_exported_events(log: TrainerLog, bucket: Bucket, prefix: RunPrefix) -> TrainerLog:
    """Add what the last export brought: the log may be seconds late, or gone."""
    body = bucket.read_end(prefix.trainer_events, most_bytes=MOST_EVENT_BYTES)
    texts = (body or b"").decode(errors="replace").splitlines()
    lines = in_order([*log.lines, *_lines(text for text in texts if may_be_relevant(text))], prefix.run)
    return TrainerLog("log" if lines else log.source, lines, log.streams)


def steps_since(moment: datetime, logs: Any, *, group: str, run: str, streams: frozenset[str]) -> list[Step]:
    """How far training came: only since a moment, because it may have said this millions of times before."""
    if not streams:
        return []
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=group,
        logStreamNames=sorted(streams)[:_MOST_STREAMS],
        startTime=int(moment.timestamp() * 1000),
        filterPattern=f'{{ ($.run = "{run}") && ($.kind = "step") }}',
    )
    return steps_in((raw["message"] for page in pages for raw in page["events"]), run)


def _pattern(run: str) -> str:
    kinds = " || ".join(f'($.kind = "{kind}")' for kind in KINDS)
    return f'{{ ($.kind = "started") || (($.run = "{run}") && ({kinds})) }}'


def _lines(texts: Iterable[str]) -> list[Line]:
    lines, unreadable = parsed(texts)
    if unreadable:
        logger.warning("lines that are no events were left out", extra={"count": unreadable})
    return lines
