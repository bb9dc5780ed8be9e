"""What the trainers of all living runs said since the pump last read their log streams.

The whole group is searched for `started` lines, once for all runs: another attempt is another stream. Then the runs'
own streams are read, many in a call. What is far behind is read after the others, a part at a time. Whatever ends a
round early, a cursor moves only over what was read.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from botocore.exceptions import BotoCoreError, ClientError

from belay.aws.clients import error_code
from belay.aws.log_group import MOST_STREAMS, LogEvent, LogGroup, OutOfTime
from belay.aws.telemetry import logger
from belay.contract.pump_state import PumpState, StreamCursor
from belay.policy import pump_state
from belay.policy.pump_state import OVERLAP
from belay.policy.trainer_log import Origin, is_said_by, started_by

_STARTED = '{ $.kind = "started" }'
_SAVES = '{ ($.kind = "saved") || ($.kind = "removed") }'
# Of a log that was not read for long: each part moves the cursor, so a round that ends early has not read in vain.
_PART = timedelta(hours=6)
# Streams that say more than this are read one by one: a job that floods its log delays only itself.
_MOST_SHARED_PAGES = 10
_THREADS = 4


@dataclass(frozen=True)
class _Cursor:
    origin: Origin
    stream: str
    read_to: datetime

    @property
    def run(self) -> str:
        return self.origin.run


@dataclass(frozen=True)
class _Part:
    """What is read at once: some streams from the oldest of their cursors on, up to a moment."""

    cursors: list[_Cursor]
    until: datetime


class _TooMuch(Exception):
    """Too much to be read with others."""


@dataclass
class Reading:
    """The states of all living runs, to which `read` adds, and why a run's log could not be read."""

    group: LogGroup
    states: dict[str, PumpState]
    now: datetime
    failed: dict[str, str] = field(default_factory=dict)

    def read(self) -> None:
        try:
            self._search([run for run, state in self.states.items() if self._is_near(state.searched_to)], self.now)
            near = [cursor for cursor in self._cursors() if self._is_near(cursor.read_to)]
            shared = [near[begin : begin + MOST_STREAMS] for begin in range(0, len(near), MOST_STREAMS)]
            self._read_parts([_Part(cursors, self.now) for cursors in shared])
            while self._catch_up():
                pass
        except OutOfTime:
            logger.warning("the log could not be read to its end in this round; the next one goes on from there")
        except (ClientError, BotoCoreError) as error:
            if error_code(error) == "ResourceNotFoundException":
                logger.warning("the log group was deleted")
                return
            # What is remembered is exported and proven all the same.
            logger.exception("the log group cannot be searched")
            self.failed |= dict.fromkeys(self.states, f"the log group cannot be searched: {error}")

    # ---- which streams are whose

    def _search(self, runs: list[str], until: datetime) -> None:
        if not runs:
            return
        since = min(self.states[run].searched_to for run in runs) - OVERLAP
        known = {stream for state in self.states.values() for stream in state.streams}
        pages = self.group.pages(_STARTED, since=since, until=None if until == self.now else until)
        said = ((event.stream, started_by(event.text)) for page in pages for event in page)
        claimed = {stream for stream, origin in said if origin and origin.run in self.states}
        unknown = sorted(claimed - known)
        for begin in range(0, len(unknown), MOST_STREAMS):
            self._confirm(unknown[begin : begin + MOST_STREAMS])
        for run in runs:
            moved = max(self.states[run].searched_to, until)
            self.states[run] = self.states[run].model_copy(update={"searched_to": moved})

    def _confirm(self, streams: list[str]) -> None:
        """By the first `started` line of each, which may be older than what was searched: no job can make its stream
        another run's by printing such a line later."""
        first: dict[str, tuple[Origin, datetime]] = {}
        for page in self.group.pages(_STARTED, streams=streams):
            for event in page:
                origin = started_by(event.text)
                if origin is not None:
                    first.setdefault(event.stream, (origin, event.at))
            if len(first) == len(streams):
                break
        for stream, (origin, at) in first.items():
            if origin.run in self.states:
                self._move(_Cursor(origin, stream, at))

    # ---- what they say

    def _catch_up(self) -> bool:
        """A part more of what is still behind; False once nothing is, or nothing can be done about it."""
        behind = [run for run, state in self.states.items() if state.searched_to < self.now]
        if behind:
            until = min(min(self.states[run].searched_to for run in behind) + _PART, self.now)
            self._search([run for run in behind if self.states[run].searched_to < until], until)
        unread = [one for one in self._cursors() if one.read_to < self.now and one.run not in self.failed]
        self._read_parts([_Part([one], min(one.read_to + _PART, self.now)) for one in unread])
        return bool(behind or unread)

    def _read_parts(self, parts: list[_Part]) -> None:
        with ThreadPoolExecutor(_THREADS) as pool:
            outcomes = list(pool.map(self._read, parts))
        for part, (events, error) in zip(parts, outcomes, strict=True):
            self._add(part.cursors, events)
            if error is None:
                for cursor in part.cursors:
                    self._move(_Cursor(cursor.origin, cursor.stream, part.until))
            elif len(part.cursors) == 1 and not isinstance(error, OutOfTime):
                self._give_up(part.cursors[0], error)
        if any(isinstance(error, OutOfTime) for _, error in outcomes):
            raise OutOfTime

    def _read(self, part: _Part) -> tuple[list[LogEvent], Exception | None]:
        events: list[LogEvent] = []
        since = min(cursor.read_to for cursor in part.cursors) - OVERLAP
        until = None if part.until == self.now else part.until
        pages = self.group.pages(_SAVES, since=since, until=until, streams=[one.stream for one in part.cursors])
        try:
            for number, page in enumerate(pages, start=1):
                events += page
                if number > _MOST_SHARED_PAGES and len(part.cursors) > 1:
                    return events, _TooMuch()
        except (OutOfTime, ClientError, BotoCoreError) as error:
            return events, error
        return events, None

    def _give_up(self, cursor: _Cursor, error: Exception) -> None:
        if error_code(error) == "ResourceNotFoundException":
            logger.warning("a log stream was deleted", extra={"run": cursor.run, "stream": cursor.stream})
            state = self.states[cursor.run]
            streams = {stream: to for stream, to in state.streams.items() if stream != cursor.stream}
            self.states[cursor.run] = state.model_copy(update={"streams": streams})
            return
        logger.error("a log stream cannot be read", extra={"run": cursor.run, "stream": cursor.stream}, exc_info=error)
        self.failed[cursor.run] = f"its log cannot be read: {error}"

    # ---- the states

    def _cursors(self) -> list[_Cursor]:
        found = [
            _Cursor(Origin(run, one.node, one.attempt), stream, one.read_to)
            for run, state in self.states.items()
            for stream, one in state.streams.items()
        ]
        return sorted(found, key=lambda one: (one.read_to, one.stream))

    def _is_near(self, moment: datetime) -> bool:
        return self.now - moment <= _PART

    def _move(self, cursor: _Cursor) -> None:
        state = self.states[cursor.run]
        known = state.streams.get(cursor.stream)
        read_to = max(cursor.read_to, known.read_to) if known else cursor.read_to
        moved = StreamCursor(node=cursor.origin.node, attempt=cursor.origin.attempt, read_to=read_to)
        self.states[cursor.run] = state.model_copy(update={"streams": state.streams | {cursor.stream: moved}})

    def _add(self, cursors: Iterable[_Cursor], events: list[LogEvent]) -> None:
        origins = {cursor.stream: cursor.origin for cursor in cursors}
        said: dict[str, list[str]] = {}
        for event in events:
            origin = origins.get(event.stream)
            if origin and is_said_by(event.text, origin):
                said.setdefault(origin.run, []).append(event.text)
        for run, texts in said.items():
            self.states[run] = pump_state.with_lines(self.states[run], texts)
