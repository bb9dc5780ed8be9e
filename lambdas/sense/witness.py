"""What the trainer itself said: which checkpoints it saved, and which it removed again."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, TypeGuard

from botocore.exceptions import ClientError
from pydantic import ValidationError

from contract.events import AnyEvent, Failed, Finished, Removed, Resumed, Saved, Started, Step, Stopping, parse_event
from contract.paths import RunPrefix
from contract.run import started_at_of
from lambdas.sense.bucket import Bucket
from lambdas.sense.clients import error_code
from lambdas.sense.telemetry import logger

Heard = Literal["log", "silent", "s3-only"]
Telling = Started | Resumed | Saved | Removed | Stopping | Finished | Failed
_KINDS = ("started", "resumed", "saved", "removed", "stopping", "finished", "failed")

# What one call of FilterLogEvents may name.
_MOST_STREAMS = 100
# The newest part of a very long run's event file: what it said last is what still matters.
MOST_EVENT_BYTES = 64 * 1024 * 1024
# The clock of the instance may be a little behind that of Step Functions.
_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True)
class Line:
    text: str
    event: Telling


@dataclass(frozen=True)
class Witness:
    """The trainer's own account. `silent`: the log can be read and it never spoke; `s3-only`: there is no log."""

    heard: Heard
    lines: list[Line] = field(default_factory=list)
    streams: frozenset[str] = frozenset()

    @property
    def standing(self) -> dict[int, Saved]:
        """The newest save of each step that was not removed since."""
        standing: dict[int, Saved] = {}
        for line in self.lines:
            if isinstance(line.event, Saved):
                standing[line.event.step] = line.event
            elif isinstance(line.event, Removed):
                standing.pop(line.event.step, None)
        return standing

    @property
    def removed(self) -> set[int]:
        return {line.event.step for line in self.lines if isinstance(line.event, Removed)} - self.standing.keys()

    @property
    def finished(self) -> bool:
        """Whether the last thing that it said of its end is that it came to it."""
        ends = [line.event for line in self.lines if isinstance(line.event, Started | Finished | Failed | Stopping)]
        return bool(ends) and isinstance(ends[-1], Finished)


def from_log(logs: Any, *, group: str, run: str) -> Witness:
    since = started_at_of(run) - _CLOCK_SKEW
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=group, startTime=int(since.timestamp() * 1000), filterPattern=_pattern(run)
    )
    try:
        raws = [(raw["logStreamName"], raw["message"]) for page in pages for raw in page["events"]]
    except ClientError as error:
        if error_code(error) == "ResourceNotFoundException":
            return Witness("s3-only")
        raise
    own = _own(raws, run)
    lines = _in_order(_lines(text for _, text in own), run)
    return Witness("log" if lines else "silent", lines, frozenset(stream for stream, _ in own))


def with_exported_events(witness: Witness, bucket: Bucket, prefix: RunPrefix) -> Witness:
    """Add what the last export brought: the log may be seconds late, or gone."""
    body = bucket.read_end(prefix.trainer_events, most_bytes=MOST_EVENT_BYTES)
    texts = (body or b"").decode(errors="replace").splitlines()
    lines = _in_order([*witness.lines, *_lines(text for text in texts if _may_tell(text))], prefix.run)
    return Witness("log" if lines else witness.heard, lines, witness.streams)


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


def steps_in(texts: Iterable[str], run: str) -> list[Step]:
    told = (_event(text) for text in texts if '"step"' in text)
    return [event for event in told if isinstance(event, Step) and event.run == run]


def _pattern(run: str) -> str:
    kinds = " || ".join(f'($.kind = "{kind}")' for kind in _KINDS)
    return f'{{ ($.kind = "started") || (($.run = "{run}") && ({kinds})) }}'


def _own(raws: list[tuple[str, str]], run: str) -> list[tuple[str, str]]:
    """Only what this run's own tasks said.

    A stream belongs to the run that its first `started` line names: the entry point says it before any code of the
    job runs. So a job that prints lines in another run's name cannot make that run's checkpoints seem removed.
    """
    owner: dict[str, str] = {}
    for stream, text in raws:
        told = _object(text)
        if told.get("kind") == "started":
            owner.setdefault(stream, str(told.get("run")))
    return [(stream, text) for stream, text in raws if owner.get(stream) == run]


def _may_tell(text: str) -> bool:
    return any(f'"{kind}"' in text for kind in _KINDS)


def _lines(texts: Iterable[str]) -> list[Line]:
    lines, unreadable = [], 0
    for text in texts:
        event = _event(text)
        if event is None:
            unreadable += 1
        elif _tells(event):
            lines.append(Line(text.strip(), event))
    if unreadable:
        # A torn last line of a killed trainer, or something that the job itself printed.
        logger.warning("lines that are no events were left out", extra={"count": unreadable})
    return lines


def _event(text: str) -> AnyEvent | None:
    try:
        return parse_event.validate_json(text.strip())
    except ValidationError:
        return None


def _tells(event: AnyEvent) -> TypeGuard[Telling]:
    return event.kind in _KINDS


def _in_order(lines: Iterable[Line], run: str) -> list[Line]:
    """By time, each once, and of this run alone."""
    own = {line.text: line for line in lines if line.event.run == run}
    return sorted(own.values(), key=lambda line: line.event.at)


def _object(text: str) -> dict[str, Any]:
    try:
        told = json.loads(text)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}
