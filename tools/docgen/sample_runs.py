"""Builds the events of short runs for tests of goodput and the report; each event is one call."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from belay.contract.events import Evaluated, Event, Failed, Finished, Resumed, Saved, Started, Step, Stopped, Verified
from belay.goodput.buckets import Bucket
from belay.goodput.flow_states import FlowState, flow_state_of
from belay.goodput.timeline import Timeline, timeline_of

START = datetime(2026, 11, 21, 2, 44, 55, tzinfo=UTC)
RUN = "20261121t024455z-3f9a2c1b"


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def event(kind: type, seconds: float, *, attempt: int = 1, **fields: Any) -> Any:
    return kind(at=at(seconds), run=RUN, attempt=attempt, **fields)


def started(seconds: float, *, attempt: int = 1) -> Started:
    return event(Started, seconds, attempt=attempt, job="j", processes=1)  # type: ignore[no-any-return]


def resumed(step: int, seconds: float, *, attempt: int = 1) -> Resumed:
    return event(Resumed, seconds, attempt=attempt, step=step, source="run/checkpoints")  # type: ignore[no-any-return]


def saved(step: int, seconds: float, *, stall: float = 0.0, durable: float = 0.0, attempt: int = 1) -> Saved:
    fields = {"path": "p", "files": 1, "bytes": 1, "manifest_crc64nvme": "AAAAAAAAAAA="}
    return event(  # type: ignore[no-any-return]
        Saved, seconds, attempt=attempt, step=step, stall_seconds=stall, durable_seconds=durable, **fields
    )


def verified(step: int, seconds: float) -> Verified:
    return event(Verified, seconds, attempt=1, step=step, proof="crc64nvme", lag_seconds=1.0)  # type: ignore[no-any-return]


def evaluated(step: int, seconds: float, *, runtime: float, attempt: int = 1) -> Evaluated:
    return event(Evaluated, seconds, attempt=attempt, step=step, metrics={"eval_runtime": runtime})  # type: ignore[no-any-return]


def finished(step: int, seconds: float, *, attempt: int = 1) -> Finished:
    return event(Finished, seconds, attempt=attempt, step=step)  # type: ignore[no-any-return]


def stopped(step: int, seconds: float, *, attempt: int = 1) -> Stopped:
    return event(Stopped, seconds, attempt=attempt, step=step, lost_steps=0)  # type: ignore[no-any-return]


def failed(seconds: float, *, attempt: int = 1) -> Failed:
    return event(Failed, seconds, attempt=attempt, exit_code=1, reason="it broke")  # type: ignore[no-any-return]


def steps(first: int, last: int, *, begin: float, each: float = 1.0, every: int = 1, attempt: int = 1) -> list[Step]:
    """Training from step `first` to `last`, a line each `every` steps."""
    return [
        event(
            Step,
            begin + (number - first + 1) * each,
            attempt=attempt,
            step=number,
            total_steps=1000,
            loss=1.0,
            step_seconds=each,
        )
        for number in range(first, last + 1)
        if number % every == 0
    ]


def flow(*states: tuple[str, float]) -> list[FlowState]:
    return [phase for name, seconds in states if (phase := flow_state_of(at(seconds), name))]


# The states before training, which starts at second 100 in every run here.
BEFORE = [("Accept job", 0), ("Create scratch file system", 2), ("Link to S3", 52), ("Train", 60)]


def of(
    events: Iterable[Event],
    phases: Iterable[FlowState] = (),
    *,
    end: float,
    is_over: bool = True,
    reference: float | None = None,
) -> Timeline:
    in_order: list[Any] = sorted(events, key=lambda one: one.at)
    return timeline_of(
        lambda: in_order, phases, begin=START, end=at(end), is_over=is_over, reference_step_seconds=reference
    )


def seconds_of(timeline: Timeline) -> dict[Bucket, float]:
    """Without the buckets that are empty."""
    return {bucket: us / 1e6 for bucket, us in timeline.us_of.items() if us}
