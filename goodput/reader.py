"""Reads a run from its first line to its last, and paints the line as it goes."""

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from contract.events import (
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
from goodput.buckets import Bucket
from goodput.lineage import Lineage
from goodput.pace import Pace
from goodput.phases import Phase
from goodput.spans import Line, Span

# Steps that take less than this many times the reference are within what steps differ by.
_SLOW = 1.5
_TRAINED = frozenset({Bucket.COMPUTE, Bucket.SLOWDOWN})
_REPEATED = frozenset({Bucket.COMPUTE, Bucket.SLOWDOWN, Bucket.EVALUATION})
_ANY = frozenset(Bucket)
# Where time went after training, as Belay's own words tell it when the flow's history is gone.
_WAITED_FOR = {Exported: Bucket.EXPORT, Verified: Bucket.VERIFICATION, Certified: Bucket.DELETION}
_OF_BELAY = (Exported, Verified, Certified)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_LONGEST_SECONDS = 1e10


@dataclass
class Attempt:
    """One start of the trainer, told apart from others by its number."""

    number: int
    began_us: int
    resumed_from: int | None = None
    trained_from_us: int | None = None
    last_step: int | None = None
    ended_us: int | None = None
    end: str | None = None
    """What it said of its end; None for one that ended without a word, or goes on."""


class Reader:
    def __init__(
        self, phases: Sequence[Phase], *, begin: datetime, end: datetime, reference_step_seconds: float | None = None
    ) -> None:
        self._phases = phases
        self._end_us = _us(end)
        self._line = Line(_us(begin), self._end_us)
        self._reference_us = reference_step_seconds * 1e6 if reference_step_seconds else None
        # What time belongs to as long as nobody says anything else.
        self._standing = Bucket.QUEUE if phases else Bucket.UNKNOWN
        self._step = 0
        self._trains = False
        self._stop_asked = False
        self._last_save_us = 0
        self._trained_until_us: int | None = None
        self.attempts: list[Attempt] = []
        self.lineage = Lineage()
        self.pace = Pace()
        self.verified_step: int | None = None

    @property
    def durable_until_us(self) -> int | None:
        return None if self.verified_step is None else self.lineage.moment_of(self.verified_step)

    def read(self, events: Iterable[AnyEvent]) -> None:
        for mark in heapq.merge(events, self._phases, key=lambda mark: mark.at):
            if isinstance(mark, Phase):
                self._enter(mark)
            elif isinstance(mark, _OF_BELAY):
                self._hear_belay(mark)
            else:
                self._hear_trainer(mark)

    def finish(self, *, is_over: bool) -> list[Span]:
        if self._trains and not is_over:
            # At risk, but not lost as long as it lives.
            self._line.paint(self._end_us, Bucket.COMPUTE)
        self._end_without_a_word(self._end_us)
        self._line.paint(self._end_us, self._standing)
        if is_over and self.lineage.kept_step is not None:
            self._lose_behind(self.lineage.kept_step)
        return self._line.spans()

    # ---- the flow

    def _enter(self, phase: Phase) -> None:
        at_us = _us(phase.at)
        if self._trains and not phase.task_has_ended:
            return
        self._end_without_a_word(at_us)
        self._line.paint(at_us, self._standing)
        self._standing = phase.bucket

    def _hear_belay(self, event: Exported | Verified | Certified) -> None:
        if isinstance(event, Verified):
            self.verified_step = max(event.step, self.verified_step or 0)
        if isinstance(event, Certified):
            self._end_without_a_word(_us(event.at))
        if self.attempts and not self._trains and self._standing is Bucket.UNKNOWN:
            self._line.paint(_us(event.at), _WAITED_FOR[type(event)])

    # ---- attempts

    def _hear_trainer(self, event: AnyEvent) -> None:
        at_us = _us(event.at)
        if not self.attempts or event.attempt > self.attempts[-1].number:
            self._begin_attempt(event.attempt, at_us)
        attempt = self.attempts[-1]
        if event.attempt < attempt.number or attempt.end is not None:
            # Late words of what is over change nothing, but a checkpoint is one whenever that is said.
            if isinstance(event, Saved) and event.attempt == attempt.number:
                self.lineage.save(event.step)
            return
        match event:
            case Step():
                self._train_to(event.step, at_us, event.step_seconds)
            case Started():
                self._line.paint(at_us, self._standing)
                self._standing = Bucket.INIT
            case Resumed():
                self._resume(event.step, at_us)
            case Evaluated():
                self._evaluate(event, at_us)
            case Saved():
                self._save(event, at_us)
            case Stopping():
                self._stop_asked = True
            case Stopped():
                self._stand_still(event.step, at_us)
            case Finished() | Failed():
                self._end(event, at_us)

    def _begin_attempt(self, number: int, at_us: int) -> None:
        self._end_without_a_word(at_us)
        self._line.paint(at_us, self._standing)
        self.attempts.append(Attempt(number=number, began_us=at_us))
        self._step, self._stop_asked = 0, False

    def _resume(self, step: int, at_us: int) -> None:
        if self._trains:
            # A launcher started its processes again; when the last ones ended, nobody said.
            self._stop_training(self._line.cursor_us)
        self._line.paint(at_us, self._standing)
        self._standing = Bucket.INIT
        self._step = self.attempts[-1].resumed_from = step
        self._lose_behind(step)

    def _end(self, event: Finished | Failed, at_us: int) -> None:
        attempt = self.attempts[-1]
        if self._trains and isinstance(event, Failed) and not self._stop_asked:
            self._line.paint(at_us, Bucket.LOST)
        elif self._trains:
            # All steps were done: what it still waited for was its last save.
            self._line.paint(min(self._last_save_us, at_us), Bucket.SAVE)
        elif isinstance(event, Finished) and attempt.last_step is None:
            # A program that tells of no steps: whether it trained is not on record.
            self._line.repaint(attempt.began_us, self._line.cursor_us, Bucket.UNKNOWN, only={Bucket.INIT})
            self._line.paint(at_us, Bucket.UNKNOWN)
        if self._trains:
            self._stop_training(self._line.cursor_us)
        self._line.paint(at_us, Bucket.INIT)
        self._standing = Bucket.INSTANCE if self._phases else Bucket.UNKNOWN
        attempt.ended_us = at_us
        attempt.end = "finished" if isinstance(event, Finished) else event.reason

    def _stand_still(self, step: int, at_us: int) -> None:
        """Told to stop, it has done what it could: nothing is trained any more, however long the program takes."""
        self._train_to(step, at_us)
        if self._trains:
            self._line.paint(min(self._last_save_us, at_us), Bucket.SAVE)
            self._stop_training(self._line.cursor_us)
            self._standing = Bucket.INIT

    def _end_without_a_word(self, at_us: int) -> None:
        """What was trained since the last line is in no checkpoint. How long that was, only the flow knows."""
        if not self._trains:
            return
        if self._phases:
            self._line.paint(at_us, Bucket.LOST)
        self._stop_training(self._line.cursor_us)
        self._standing = Bucket.INSTANCE if self._phases else Bucket.UNKNOWN

    def _stop_training(self, at_us: int) -> None:
        self._trains, self._trained_until_us = False, at_us
        self.attempts[-1].ended_us = at_us

    # ---- steps

    def _train_to(self, step: int, at_us: int, step_seconds: float | None = None) -> None:
        """By then training had done this step."""
        steps = step - self._step
        if steps <= 0:
            return
        is_first = not self._trains
        if is_first:
            each_us = _long_us(step_seconds) if step_seconds else self._reference_us
            self._begin_training(max(self._line.cursor_us, at_us - round(each_us * steps)) if each_us else None)
        start_us = self._line.cursor_us
        slow_us = self._beyond_reference_us(at_us - start_us, steps)
        if is_first:
            # Compiling, warming up, filling the loader: the price of a beginning, not of a step.
            self._line.paint(start_us + slow_us, Bucket.INIT)
        else:
            self.pace.add(at_us - start_us, steps)
            self._line.paint(at_us - slow_us, Bucket.COMPUTE)
        self._line.paint(at_us, Bucket.COMPUTE if is_first else Bucket.SLOWDOWN)
        self._step = self.attempts[-1].last_step = step
        self.lineage.reach(step, self._line.cursor_us)

    def _begin_training(self, start_us: int | None) -> None:
        self._line.paint(start_us or self._line.cursor_us, Bucket.INIT)
        start_us = self._line.cursor_us
        attempt = self.attempts[-1]
        if attempt.resumed_from is None:
            self._lose_behind(0)
        if self._trained_until_us is not None:
            self._line.repaint(self._trained_until_us, start_us, Bucket.RECOVERY, only=_ANY)
        self.lineage.begin(self._step, start_us)
        attempt.trained_from_us = attempt.trained_from_us or start_us
        attempt.ended_us = None
        self._trains = True

    def _beyond_reference_us(self, duration_us: int, steps: int) -> int:
        if self._reference_us is None or duration_us <= _SLOW * self._reference_us * steps:
            return 0
        return round(duration_us - self._reference_us * steps)

    def _lose_behind(self, step: int) -> None:
        if self.lineage.reaches_beyond(step):
            since_us = self.lineage.moment_of(step)
            since_us = self._line.begin_us if since_us is None else since_us
            self._line.repaint(since_us, self._line.cursor_us, Bucket.LOST, only=_REPEATED)
        self.lineage.cut(step)

    # ---- what training stands still for

    def _save(self, event: Saved, at_us: int) -> None:
        shown_us = at_us - _long_us(event.durable_seconds)
        self._train_to(event.step, max(shown_us, self._line.cursor_us))
        if self._trains:
            stalled_until_us = min(at_us, shown_us + _long_us(event.stall_seconds))
            self._line.repaint(shown_us, stalled_until_us, Bucket.SAVE, only=_TRAINED)
            if shown_us <= self._line.cursor_us:
                self._line.paint(stalled_until_us, Bucket.SAVE)
        self._last_save_us = at_us
        self.lineage.save(event.step)

    def _evaluate(self, event: Evaluated, at_us: int) -> None:
        if not self._trains:
            return
        took_seconds = max((value for name, value in event.metrics.items() if name.endswith("_runtime")), default=0.0)
        start_us = max(self._line.cursor_us, at_us - _long_us(took_seconds))
        self._train_to(event.step, start_us)
        self._line.paint(start_us, Bucket.COMPUTE)
        self._line.paint(at_us, Bucket.EVALUATION)


def _us(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _long_us(seconds: float) -> int:
    """A line may say anything that JSON can hold."""
    return round(min(max(seconds, 0.0), _LONGEST_SECONDS) * 1e6) if math.isfinite(seconds) else 0
