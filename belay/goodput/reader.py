"""Reads what happened on one node from the first line to the last, and paints its lane as it goes."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from belay.contract.events import (
    AnyEvent,
    Certified,
    Evaluated,
    Exported,
    Failed,
    Finished,
    Resumed,
    Saved,
    Started,
    Step,
    Stopped,
    Stopping,
    Verified,
)
from belay.goodput.buckets import Bucket
from belay.goodput.flow_states import FlowState
from belay.goodput.lineage import Lineage
from belay.goodput.pace import Pace
from belay.goodput.spans import Lane, Span

# Steps that take less than this many times the reference are within what steps differ by.
_SLOW = 1.5
_TRAINED = frozenset({Bucket.COMPUTE, Bucket.SLOWDOWN})
_REPEATED = frozenset({Bucket.COMPUTE, Bucket.SLOWDOWN, Bucket.EVALUATION})
_ANY = frozenset(Bucket)
# Where time went after training, as Belay's own events say it when the flow's history is gone.
_WAITED_FOR = {Exported: Bucket.EXPORT, Verified: Bucket.VERIFICATION, Certified: Bucket.DELETION}
OF_BELAY = (Exported, Verified, Certified)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST_SECONDS = 1e10


@dataclass
class Attempt:
    """One start of the trainer on a node, told apart from others there by its number."""

    node: int
    number: int
    began_us: int
    resumed_from: int | None = None
    trained_from_us: int | None = None
    last_step: int | None = None
    end: str | None = None
    """What it said of its end; None for one that ended without an event, or goes on."""


class Reader:
    def __init__(
        self,
        node: int,
        *,
        begin: datetime,
        end: datetime,
        pace: Pace,
        knows_flow: bool,
        reference_step_seconds: float | None = None,
    ) -> None:
        self.node = node
        self._knows_flow = knows_flow
        self._end_us = _us(end)
        self._lane = Lane(_us(begin), self._end_us)
        self._reference_us = reference_step_seconds * 1e6 if reference_step_seconds else None
        self._pace = pace
        # What time belongs to as long as nothing else is said.
        self._current = Bucket.QUEUE if knows_flow else Bucket.UNKNOWN
        self._step = 0
        self._trains = False
        self._stop_asked = False
        self._last_save_us = 0
        self._trained_until_us: int | None = None
        self.attempts: list[Attempt] = []
        self.lineage = Lineage()
        self.verified_step: int | None = None

    @property
    def durable_until_us(self) -> int | None:
        return None if self.verified_step is None else self.lineage.moment_of(self.verified_step)

    def finish(self, *, is_over: bool) -> list[Span]:
        if self._trains and not is_over:
            # At risk, but not lost as long as it lives.
            self._lane.paint(self._end_us, Bucket.COMPUTE)
        self._end_unreported(self._end_us)
        self._lane.paint(self._end_us, self._current)
        if is_over and self.lineage.kept_step is not None:
            self._lose_after(self.lineage.kept_step)
        return self._lane.spans()

    # ---- the flow, and what is of all nodes

    def enter(self, state: FlowState) -> None:
        at_us = _us(state.at)
        if self._trains and not state.task_has_ended:
            return
        self._end_unreported(at_us)
        self._lane.paint(at_us, self._current)
        self._current = state.bucket

    def read_belay(self, event: Exported | Verified | Certified) -> None:
        if isinstance(event, Verified):
            self.verified_step = max(event.step, self.verified_step or 0)
        if isinstance(event, Certified):
            self._end_unreported(_us(event.at))
        if self.attempts and not self._trains and self._current is Bucket.UNKNOWN:
            self._lane.paint(_us(event.at), _WAITED_FOR[type(event)])

    def learn_save(self, step: int) -> None:
        """Another node announced a checkpoint: it is the run's, so this node too can go on from it."""
        self.lineage.save(step)

    # ---- attempts

    def read_trainer(self, event: AnyEvent) -> None:
        at_us = _us(event.at)
        if not self.attempts or event.attempt > self.attempts[-1].number:
            self._begin_attempt(event.attempt, at_us)
        attempt = self.attempts[-1]
        if event.attempt < attempt.number or attempt.end is not None:
            # Late lines of what is over change nothing, but a checkpoint is one whenever it is announced.
            if isinstance(event, Saved) and event.attempt == attempt.number:
                self.lineage.save(event.step)
            return
        match event:
            case Step():
                self._train_to(event.step, at_us, event.step_seconds)
            case Started():
                self._lane.paint(at_us, self._current)
                self._current = Bucket.INIT
            case Resumed():
                self._resume(event.step, at_us)
            case Evaluated():
                self._evaluate(event, at_us)
            case Saved():
                self._save(event, at_us)
            case Stopping():
                self._stop_asked = True
            case Stopped():
                self._stop_on_request(event.step, at_us)
            case Finished() | Failed():
                self._end(event, at_us)

    def _begin_attempt(self, number: int, at_us: int) -> None:
        self._end_unreported(at_us)
        self._lane.paint(at_us, self._current)
        self.attempts.append(Attempt(node=self.node, number=number, began_us=at_us))
        self._step, self._stop_asked = 0, False

    def _resume(self, step: int, at_us: int) -> None:
        if self._trains:
            # A launcher started its processes again; when the last ones ended is not on record.
            self._stop_training(self._lane.cursor_us)
        self._lane.paint(at_us, self._current)
        self._current = Bucket.INIT
        self._step = self.attempts[-1].resumed_from = step
        self._lose_after(step)

    def _end(self, event: Finished | Failed, at_us: int) -> None:
        attempt = self.attempts[-1]
        if self._trains and isinstance(event, Failed) and not self._stop_asked:
            self._lane.paint(at_us, Bucket.LOST)
        elif self._trains:
            # All steps were done: what it still waited for was its last save.
            self._lane.paint(min(self._last_save_us, at_us), Bucket.SAVE)
        elif isinstance(event, Finished) and attempt.last_step is None:
            # A program that logs no steps: whether it trained is not on record.
            self._lane.repaint(attempt.began_us, self._lane.cursor_us, Bucket.UNKNOWN, only={Bucket.INIT})
            self._lane.paint(at_us, Bucket.UNKNOWN)
        if self._trains:
            self._stop_training(self._lane.cursor_us)
        self._lane.paint(at_us, Bucket.INIT)
        self._current = Bucket.INSTANCE if self._knows_flow else Bucket.UNKNOWN
        attempt.end = "finished" if isinstance(event, Finished) else event.reason

    def _stop_on_request(self, step: int, at_us: int) -> None:
        """Told to stop, it has done what it could: nothing is trained any more, however long the program takes."""
        self._train_to(step, at_us)
        if self._trains:
            self._lane.paint(min(self._last_save_us, at_us), Bucket.SAVE)
            self._stop_training(self._lane.cursor_us)
            self._current = Bucket.INIT

    def _end_unreported(self, at_us: int) -> None:
        """What was trained since the last line is in no checkpoint. How long that was, only the flow knows."""
        if not self._trains:
            return
        if self._knows_flow:
            self._lane.paint(at_us, Bucket.LOST)
        self._stop_training(self._lane.cursor_us)
        self._current = Bucket.INSTANCE if self._knows_flow else Bucket.UNKNOWN

    def _stop_training(self, at_us: int) -> None:
        self._trains, self._trained_until_us = False, at_us

    # ---- steps

    def _train_to(self, step: int, at_us: int, step_seconds: float | None = None) -> None:
        """By then training had done this step."""
        steps = step - self._step
        if steps <= 0:
            return
        is_first = not self._trains
        if is_first:
            each_us = _long_us(step_seconds) if step_seconds else self._reference_us
            self._begin_training(max(self._lane.cursor_us, at_us - round(each_us * steps)) if each_us else None)
        start_us = self._lane.cursor_us
        slow_us = self._beyond_reference_us(at_us - start_us, steps)
        if is_first:
            # Compiling, warming up, filling the loader: the price of a beginning, not of a step.
            self._lane.paint(start_us + slow_us, Bucket.INIT)
        else:
            self._pace.add(at_us - start_us, steps)
            self._lane.paint(at_us - slow_us, Bucket.COMPUTE)
        self._lane.paint(at_us, Bucket.COMPUTE if is_first else Bucket.SLOWDOWN)
        self._step = self.attempts[-1].last_step = step
        self.lineage.reach(step, self._lane.cursor_us)

    def _begin_training(self, start_us: int | None) -> None:
        self._lane.paint(start_us or self._lane.cursor_us, Bucket.INIT)
        start_us = self._lane.cursor_us
        attempt = self.attempts[-1]
        if attempt.resumed_from is None:
            self._lose_after(0)
        if self._trained_until_us is not None:
            self._lane.repaint(self._trained_until_us, start_us, Bucket.RECOVERY, only=_ANY)
        self.lineage.begin(self._step, start_us)
        attempt.trained_from_us = attempt.trained_from_us or start_us
        self._trains = True

    def _beyond_reference_us(self, duration_us: int, steps: int) -> int:
        if self._reference_us is None or duration_us <= _SLOW * self._reference_us * steps:
            return 0
        return round(duration_us - self._reference_us * steps)

    def _lose_after(self, step: int) -> None:
        if self.lineage.reaches_beyond(step):
            since_us = self.lineage.moment_of(step)
            since_us = self._lane.begin_us if since_us is None else since_us
            self._lane.repaint(since_us, self._lane.cursor_us, Bucket.LOST, only=_REPEATED)
        self.lineage.cut(step)

    # ---- what training stands still for

    def _save(self, event: Saved, at_us: int) -> None:
        shown_us = at_us - _long_us(event.durable_seconds)
        self._train_to(event.step, max(shown_us, self._lane.cursor_us))
        if self._trains:
            stalled_until_us = min(at_us, shown_us + _long_us(event.stall_seconds))
            self._lane.repaint(shown_us, stalled_until_us, Bucket.SAVE, only=_TRAINED)
            if shown_us <= self._lane.cursor_us:
                self._lane.paint(stalled_until_us, Bucket.SAVE)
        self._last_save_us = at_us
        self.lineage.save(event.step)

    def _evaluate(self, event: Evaluated, at_us: int) -> None:
        if not self._trains:
            return
        took_seconds = max((value for name, value in event.metrics.items() if name.endswith("_runtime")), default=0.0)
        start_us = max(self._lane.cursor_us, at_us - _long_us(took_seconds))
        self._train_to(event.step, start_us)
        self._lane.paint(start_us, Bucket.COMPUTE)
        self._lane.paint(at_us, Bucket.EVALUATION)


def _us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _long_us(seconds: float) -> int:
    """A line may say anything that JSON can hold."""
    return round(min(max(seconds, 0.0), _LONGEST_SECONDS) * 1e6) if math.isfinite(seconds) else 0
