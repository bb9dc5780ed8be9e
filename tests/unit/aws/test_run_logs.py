"""The pump reads the log from cursors. It must end with the same saves as one who reads everything."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from belay.aws.log_group import CallRate, LogGroup
from belay.aws.run_logs import Reading
from belay.contract.events import Removed, Saved, Started
from belay.contract.ledger import Ledger, LedgerEntry
from belay.contract.pump_state import PumpState, StreamCursor
from belay.contract.run import run_id
from belay.policy import pump_state, pumping
from belay.policy.pump_state import OVERLAP
from belay.policy.trainer_log import TrainerLog, in_order, lines_of_run, parsed

BEGIN = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)
RUNS = [run_id(f"arn:{name}", BEGIN) for name in ("a", "b")]


@dataclass(frozen=True)
class Line:
    stream: str
    at: datetime
    visible_at: datetime
    text: str


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "FilterLogEvents")


@dataclass
class LateLog:
    """FilterLogEvents where a line can be seen from some moment on; small pages, and empty ones between them."""

    lines: list[Line]
    now: datetime = BEGIN
    faults: Iterator[str] = field(default_factory=lambda: iter(()))
    calls: list[dict[str, Any]] = field(default_factory=list)
    streams: set[str] | None = None

    def filter_log_events(self, **asked: Any) -> dict[str, Any]:
        self.calls.append(asked)
        fault = next(self.faults, "")
        if fault:
            raise refused(fault)
        streams = asked.get("logStreamNames")
        assert streams is None or 1 <= len(streams) <= 100
        if streams and self.streams is not None and not set(streams) <= self.streams:
            raise refused("ResourceNotFoundException")
        end = asked.get("endTime", 10**15)
        kinds = [kind for kind in ("started", "saved", "removed") if f'"{kind}"' in asked["filterPattern"]]
        found = [
            {"timestamp": _ms(one.at), "logStreamName": one.stream, "message": one.text}
            for one in sorted(self.lines, key=lambda one: _ms(one.at))
            if one.visible_at <= self.now
            and asked["startTime"] <= _ms(one.at) <= end
            and (streams is None or one.stream in streams)
            and any(f'"kind":"{kind}"' in one.text for kind in kinds)
        ]
        start = int(asked.get("nextToken", 0))
        # Every other page is empty, as AWS's pages may be.
        page = found[start // 2 * 3 : start // 2 * 3 + 3] if start % 2 else []
        more = {"nextToken": str(start + 1)} if (start + 1) // 2 * 3 < len(found) else {}
        return {"events": page, **more}


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def at(minutes: float) -> datetime:
    return BEGIN + timedelta(minutes=minutes)


def started(run: str, minutes: float) -> str:
    return Started(at=at(minutes), run=run, attempt=1, job="digits", processes=1).line()


def saved(run: str, step: int, minutes: float, manifest: str = "a") -> str:
    return Saved(
        at=at(minutes),
        run=run,
        attempt=1,
        step=step,
        path="p",
        files=1,
        bytes=1,
        stall_seconds=0,
        durable_seconds=0,
        manifest_crc64nvme=manifest,
    ).line()


def removed(run: str, step: int, minutes: float) -> str:
    return Removed(at=at(minutes), run=run, attempt=1, step=step).line()


def said(stream: str, minutes: float, text: str, *, late: float = 0) -> Line:
    return Line(stream, at(minutes), at(minutes + late), text)


def read(log: LateLog, states: dict[str, PumpState], now: datetime, *, seconds: float = 1e9) -> Reading:
    """One round, on a clock that only the rate's waiting moves."""
    passed = [0.0]

    def sleep(for_seconds: float) -> None:
        passed[0] += for_seconds

    log.now = now
    rate = CallRate(calls_per_second=5, seconds=seconds, clock=lambda: passed[0], sleep=sleep)
    reading = Reading(LogGroup(log, "g", rate), dict(states), now)
    reading.read()
    return reading


def from_all(log: LateLog, run: str) -> dict[int, Saved]:
    """What the current saves are to one who reads the whole log once everything is in it."""
    raws = [(one.stream, one.text) for one in sorted(log.lines, key=lambda one: _ms(one.at))]
    lines, _ = parsed(text for _, text in lines_of_run(raws, run))
    return TrainerLog("log", in_order(lines, run)).current_saves


# ---- one who reads from cursors ends with the same saves

_LATE = st.one_of(st.just(0.0), st.floats(0, OVERLAP / timedelta(minutes=1)))
_WHAT = st.tuples(st.sampled_from(["saved", "removed"]), st.integers(1, 5), st.sampled_from(["a", "b"]))
_SAID = st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 3600), _WHAT, _LATE, st.booleans())
_FAULTS = st.lists(st.sampled_from(["", "", "", "ThrottlingException", "InternalFailure"]), max_size=30)


@st.composite
def logs(draw: st.DrawFn) -> LateLog:
    """Two runs with two attempts each; lines come late and twice, and at times two have the same millisecond."""
    lines = []
    for number, run in enumerate(RUNS):
        for attempt in (0, 1):
            begin = draw(st.integers(0, 20))
            lines.append(said(f"run/trainer/{number}{attempt}", begin, started(run, begin), late=draw(_LATE)))
    begins = {line.stream: (line.at - BEGIN) / timedelta(minutes=1) for line in lines}
    for number, attempt, after_seconds, (kind, step, manifest), late, twice in draw(
        st.lists(_SAID, min_size=5, max_size=40)
    ):
        stream = f"run/trainer/{number}{attempt}"
        minutes = begins[stream] + after_seconds / 60
        run = RUNS[number]
        text = saved(run, step, minutes, manifest) if kind == "saved" else removed(run, step, minutes)
        lines.append(said(stream, minutes, text, late=late))
        if twice:
            lines.append(said(stream, minutes, text, late=OVERLAP / timedelta(minutes=1)))
    return LateLog(lines, faults=iter(draw(_FAULTS)))


@settings(max_examples=40, deadline=None)
@given(
    log=logs(),
    gaps=st.lists(st.floats(0.5, 5), min_size=15, max_size=30),
    pause=st.sampled_from([0.5, 500.0]),
    forgotten=st.sets(st.integers(0, 40)),
    short=st.sets(st.integers(0, 40)),
    proven=st.sets(st.integers(1, 5)),
)
def test_reading_from_cursors_ends_with_the_saves_that_reading_everything_finds(
    log: LateLog, gaps: list[float], pause: float, forgotten: set[int], short: set[int], proven: set[int]
) -> None:
    entries = [LedgerEntry(step=step, manifest_crc64nvme="a", verified_at=at(0)) for step in proven]
    ledgers = {run: Ledger(run=run, entries=entries) for run in RUNS}
    states = {run: pump_state.new(run) for run in RUNS}
    now = 5.0
    for number, gap in enumerate([*gaps, pause]):
        now += gap
        reading = read(log, states, at(now), seconds=1.0 if number in short else 1e9)
        if number not in forgotten:
            # A round that died before it wrote leaves what was before it.
            states = {run: _stored(state, ledgers[run]) for run, state in reading.states.items()}
    log.faults = iter(())
    states = read(log, states, at(max(now, 2000.0))).states
    for run in RUNS:
        assert pumping.due(states[run].current_saves, ledgers[run]) == pumping.due(from_all(log, run), ledgers[run])


def _stored(state: PumpState, ledger: Ledger) -> PumpState:
    kept = pump_state.settled(state.model_copy(update={"ledger": ledger}))
    return PumpState.model_validate_json(kept.model_dump_json())


# ---- one by one


def fresh(*runs: str) -> dict[str, PumpState]:
    return {run: pump_state.new(run) for run in runs or RUNS[:1]}


READ = StreamCursor(node=0, attempt=1, read_to=at(9))


def steps(reading: Reading, run: str = RUNS[0]) -> set[int]:
    return set(reading.states[run].current_saves)


def test_a_round_calls_no_more_often_for_an_old_run_than_for_a_new_one() -> None:
    def calls_after(days: int) -> int:
        lines = [said("s", 0, started(RUNS[0], 0))]
        lines += [said("s", minute, saved(RUNS[0], minute, minute)) for minute in range(10, days * 1440, 10)]
        log = LateLog(lines)
        states = read(log, fresh(), at(days * 1440)).states
        log.calls.clear()
        read(log, states, at(days * 1440 + 1))
        return len(log.calls)

    assert calls_after(30) == calls_after(1)


def test_a_line_that_comes_after_its_neighbours_is_seen() -> None:
    late = said("s", 10, saved(RUNS[0], 10, 10), late=14)
    log = LateLog([said("s", 0, started(RUNS[0], 0)), late, said("s", 11, saved(RUNS[0], 11, 11))])
    reading = read(log, fresh(), at(12))
    assert steps(reading) == {11}
    for minute in range(13, 24):
        reading = read(log, reading.states, at(minute))
    assert steps(read(log, reading.states, at(24))) == {10, 11}


def test_another_attempt_is_found_by_its_started_line_and_read_from_there() -> None:
    log = LateLog([said("s1", 0, started(RUNS[0], 0)), said("s1", 10, saved(RUNS[0], 10, 10))])
    reading = read(log, fresh(), at(12))
    log.lines += [said("s2", 13, started(RUNS[0], 13)), said("s2", 14, saved(RUNS[0], 20, 14))]
    reading = read(log, reading.states, at(15))
    assert steps(reading) == {10, 20} and set(reading.states[RUNS[0]].streams) == {"s1", "s2"}


def test_a_stream_is_not_another_runs_because_it_says_so_later() -> None:
    """Though its own `started` line is older than all that this run has to do with."""
    hostile = [said("b", 0, started("other", 0)), said("b", 500, started(RUNS[0], 500))]
    own = [said("a", 490, started(RUNS[0], 490)), said("a", 495, saved(RUNS[0], 10, 495))]
    log = LateLog([*hostile, *own, said("b", 501, removed(RUNS[0], 10, 501))])
    state = {RUNS[0]: PumpState(run=RUNS[0], searched_to=at(485))}
    reading = read(log, state, at(502))
    assert set(reading.states[RUNS[0]].streams) == {"a"} and steps(reading) == {10}


def test_a_throttled_call_is_made_again_later_and_slower() -> None:
    log = LateLog([said("s", 0, started(RUNS[0], 0)), said("s", 10, saved(RUNS[0], 10, 10))])
    log.faults = iter(["ThrottlingException"] * 3)
    reading = read(log, fresh(), at(12), seconds=40)
    assert steps(reading) == {10} and reading.failed == {}


def test_a_round_whose_time_is_over_moves_no_cursor_over_what_it_did_not_read() -> None:
    log = LateLog([said("s", 0, started(RUNS[0], 0)), said("s", 10, saved(RUNS[0], 10, 10))])
    reading = read(log, fresh(), at(12), seconds=0.3)
    assert steps(reading) == set() and reading.failed == {}
    for _ in range(5):
        reading = read(log, reading.states, at(13), seconds=1)
    assert steps(read(log, reading.states, at(14), seconds=2)) == {10}


def test_a_stream_that_was_deleted_costs_no_other_run_its_lines() -> None:
    log = LateLog(
        [
            said("s1", 0, started(RUNS[0], 0)),
            said("s2", 0, started(RUNS[1], 0)),
            said("s2", 10, saved(RUNS[1], 10, 10)),
        ]
    )
    states = read(log, fresh(*RUNS), at(9)).states
    log.streams = {"s2"}
    reading = read(log, states, at(12))
    assert steps(reading, RUNS[1]) == {10} and reading.states[RUNS[0]].streams == {} and reading.failed == {}


def test_a_job_that_floods_its_log_costs_no_other_run_its_lines() -> None:
    flood = [said("s1", 5 + step / 1000, saved(RUNS[0], 1, 5 + step / 1000)) for step in range(2000)]
    own = [said("s2", 0, started(RUNS[1], 0)), said("s2", 10, saved(RUNS[1], 10, 10))]
    log = LateLog([said("s1", 0, started(RUNS[0], 0)), *own, *flood])
    reading = read(log, fresh(*RUNS), at(12), seconds=40)
    assert steps(reading, RUNS[1]) == {10}


def test_a_log_group_that_cannot_be_searched_is_a_failure_of_each_run_and_a_deleted_one_of_none() -> None:
    for fault, failed in (("AccessDeniedException", set(RUNS)), ("ResourceNotFoundException", set())):
        reading = read(LateLog([], faults=iter([fault])), fresh(*RUNS), at(12))
        assert set(reading.failed) == failed


def test_what_was_forgotten_is_read_again_a_part_after_the_other() -> None:
    lines = [said("s", 0, started(RUNS[0], 0))]
    lines += [said("s", minute, saved(RUNS[0], minute, minute)) for minute in range(60, 10 * 1440, 60)]
    log, states, rounds = LateLog(lines), fresh(), 0
    while len(states[RUNS[0]].newest) < len(lines) - 1:
        before = states
        states = read(log, states, at(10 * 1440 + rounds), seconds=20).states
        assert states != before, "each round gets on"
        rounds += 1
    assert 1 < rounds < 20


@pytest.mark.parametrize(("names", "calls"), [(1, 2), (100, 2), (101, 3), (400, 5)])
def test_streams_are_read_a_hundred_in_a_call(names: int, calls: int) -> None:
    runs = [run_id(f"arn:{number}", BEGIN) for number in range(names)]
    states = {
        run: PumpState(run=run, searched_to=at(9), streams={f"s{number}": READ}) for number, run in enumerate(runs)
    }
    log = LateLog([])
    read(log, states, at(10))
    assert len(log.calls) == calls
