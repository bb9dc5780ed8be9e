"""What the trainer said in its log: which checkpoints it saved, and which it removed again. Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeGuard

from pydantic import ValidationError

from belay.contract.events import (
    AnyEvent,
    Event,
    Failed,
    Finished,
    Host,
    Removed,
    Resumed,
    Saved,
    Started,
    Step,
    Stopping,
    parse_event,
)

Source = Literal["log", "silent", "s3-only"]
Relevant = Started | Resumed | Saved | Removed | Stopping | Finished | Failed
# The clock of the instance may be a little behind that of Step Functions.
CLOCK_SKEW = timedelta(minutes=5)
KINDS = ("started", "resumed", "saved", "removed", "stopping", "finished", "failed")


class Origin(NamedTuple):
    """Who said a line: a task is one attempt of one node of a run, and has a log stream of its own."""

    run: str
    node: int
    attempt: int


@dataclass(frozen=True)
class Line:
    text: str
    event: Relevant


@dataclass(frozen=True)
class TrainerLog:
    """The trainer's own account. `silent`: the log can be read and is empty; `s3-only`: there is no log."""

    source: Source
    lines: list[Line] = field(default_factory=list)
    streams: frozenset[str] = frozenset()

    @property
    def current_saves(self) -> dict[int, Saved]:
        """The newest save of each step that was not removed since."""
        saves: dict[int, Saved] = {}
        for line in self.lines:
            if isinstance(line.event, Saved):
                saves[line.event.step] = line.event
            elif isinstance(line.event, Removed):
                saves.pop(line.event.step, None)
        return saves

    @property
    def removed(self) -> set[int]:
        return {line.event.step for line in self.lines if isinstance(line.event, Removed)} - self.current_saves.keys()

    @property
    def finished(self) -> bool:
        """Whether the last thing that each node said of its end is that it came to it."""
        said = (line.event for line in self.lines)
        last = {event.node: event for event in said if isinstance(event, Started | Finished | Failed | Stopping)}
        return bool(last) and all(isinstance(event, Finished) for event in last.values())

    @property
    def attempts_of_node(self) -> dict[int, int]:
        """How many attempts each node made: each counts its own, from 1."""
        attempts: dict[int, int] = {}
        for line in self.lines:
            attempts[line.event.node] = max(line.event.attempt, attempts.get(line.event.node, 0))
        return dict(sorted(attempts.items()))

    @property
    def host_of_node(self) -> dict[int, Host]:
        """What the last attempt of each node ran on."""
        started = (line.event for line in self.lines if isinstance(line.event, Started))
        return {event.node: event.host for event in started if event.host}


def lines_of_run(raws: list[tuple[str, str]], run: str) -> list[tuple[str, str]]:
    """Stream and text of what this run's own tasks said.

    A stream belongs to the run, node and attempt that its first `started` line names: the entry point says it before
    any code of the job runs. So a job that prints lines in the name of another run, or of another node, cannot make
    checkpoints seem removed, or an end seem to be another node's.
    """
    read = [(stream, text, _object(text)) for stream, text in raws]
    owners: dict[str, Origin] = {}
    for stream, _, document in read:
        if document.get("kind") == "started":
            owners.setdefault(stream, _origin(document))
    return [
        (stream, text)
        for stream, text, document in read
        if (owner := owners.get(stream)) and owner.run == run and ("run" not in document or _origin(document) == owner)
    ]


def started_by(text: str) -> Origin | None:
    """Who said it, if it is a `started` line."""
    document = _object(text)
    return _origin(document) if document.get("kind") == "started" else None


def is_said_by(text: str, origin: Origin) -> bool:
    document = _object(text)
    return "run" not in document or _origin(document) == origin


def parsed(texts: Iterable[str]) -> tuple[list[Line], int]:
    """The relevant events, and how many lines were none: a torn last line of a killed trainer, or the job's own."""
    lines, unreadable = [], 0
    for text in texts:
        event = _event(text)
        if event is None:
            unreadable += 1
        elif _is_relevant(event):
            lines.append(Line(text.strip(), event))
    return lines, unreadable


def in_order(lines: Iterable[Line], run: str) -> list[Line]:
    """By time, each once, and of this run alone."""
    own = {line.text: line for line in lines if line.event.run == run}
    return sorted(own.values(), key=lambda line: newer(line.event))


def newer(event: Event) -> tuple[datetime, bool, str]:
    """The order of events. Of one millisecond a save counts last: to export one too many costs little."""
    return event.at, isinstance(event, Saved), event.line()


def may_be_relevant(text: str) -> bool:
    """Quick: most lines of a long file need not be parsed."""
    return any(f'"{kind}"' in text for kind in KINDS)


def steps_in(texts: Iterable[str], run: str) -> list[Step]:
    events = (_event(text) for text in texts if '"step"' in text)
    return [event for event in events if isinstance(event, Step) and event.run == run]


def _event(text: str) -> AnyEvent | None:
    try:
        return parse_event.validate_json(text.strip())
    except ValidationError:
        return None


def _is_relevant(event: AnyEvent) -> TypeGuard[Relevant]:
    return event.kind in KINDS


def _origin(document: dict[str, Any]) -> Origin:
    """Lines of earlier versions name no node; there was one."""
    return Origin(str(document.get("run")), document.get("node", 0), document.get("attempt", 0))


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
