"""A cadence with a limit: no failure costs more than so much work."""

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from stallfree.cadence import Cadence
from stallfree.cadence.interval import SaveTimes, interval_seconds
from stallfree.events import Arrived, Event, Interfered, MaxLossNotKept, NotSaved, Saved, Skipped

T = TypeVar("T")

_LAST_FEW = 5
_LAST_STEPS = 20
# A save of which `arrived` is never called is dropped at last.
_MOST_ON_THEIR_WAY = 1000
# Steps and saves are not all alike.
_PLANNED = 0.9
# The first save is made early: before it nothing is known of what one takes.
_BEFORE_THE_FIRST = 0.1


@dataclass
class _OnItsWay:
    """A save, until it is known to count."""

    taken_at: float
    durable_at: float | None = None


class MaxLoss(Cadence):
    """At risk is all that was trained since the state of the newest checkpoint that counts.

    So an interval and the time until a save counts share `work_seconds`. With a failure rate given, the interval is the
    one that costs least (see stallfree.pace), if that is shorter. Both follow from the last few steps and saves.
    beyond_seconds: from durable until a checkpoint counts, until `arrived` is first called; 0: it counts at once.
    """

    def __init__(
        self,
        work_seconds: float,
        *,
        failures_per_hour: float = 0.0,
        beyond_seconds: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not 0 < work_seconds < float("inf") or not 0 <= failures_per_hour < float("inf"):
            raise ValueError("MaxLoss needs work_seconds above 0, and failures_per_hour of 0 or more.")
        self._work_seconds = work_seconds
        self._failures_per_hour = failures_per_hour
        self._clock = clock
        # Savers send events from threads of their own.
        self._lock = threading.RLock()
        self._steps: deque[float] = deque(maxlen=_LAST_STEPS)
        self._costs: dict[int, float] = {}
        self._durable: deque[float] = deque(maxlen=_LAST_FEW)
        self._beyond: deque[float] = deque(maxlen=_LAST_FEW)
        self._beyond_guess_seconds = beyond_seconds
        self._step = 0
        self._last_chance: float | None = None
        self._on_their_way: dict[int, _OnItsWay] = {}
        self._counts_later = beyond_seconds > 0
        self._last = self._last_durable = self._safe_until = clock()
        self._unkept: deque[MaxLossNotKept] = deque()
        self._has_said = False

    def is_due(self, step: int) -> bool:
        with self._lock:
            now = self._clock()
            if self._last_chance is not None:
                self._steps.append(now - self._last_chance)
            self._step, self._last_chance = step, now
            waited = now - self._last
            self._look_whether_kept(waited)
            # At the next step it would be too late.
            return waited + self._step_seconds() > self.interval_seconds()

    def saved(self) -> None:
        with self._lock:
            self._last = self._clock()
            if self._last_chance is None:
                # Training begins: what it begins with is safe already.
                self._last_chance = self._last_durable = self._safe_until = self._last
            else:
                self._on_their_way = _newest(self._on_their_way, _MOST_ON_THEIR_WAY)
                self._on_their_way[self._step] = _OnItsWay(taken_at=self._last)

    def observe(self, event: Event) -> None:
        with self._lock:
            match event:
                case Saved():
                    self._durable.append(event.durable_seconds)
                    self._costs = {**_newest(self._costs, _LAST_FEW - 1), event.step: event.stall_seconds}
                    self._is_durable(event.step)
                case Interfered() if event.step in self._costs:
                    self._costs[event.step] = max(self._costs[event.step], event.seconds)
                case Arrived():
                    self.arrived(event.step)
                case NotSaved() | Skipped():
                    self._on_their_way.pop(event.step, None)
                    # Still at risk, and since when.
                    self._last = self._last_durable

    def arrived(self, step: int, *, still_seconds: float = 0.0) -> None:
        """The checkpoint of this step has come to where it counts, or will after the time that is still given."""
        with self._lock:
            save = self._on_their_way.get(step)
            if save is None or save.durable_at is None:
                return
            now = self._clock() + still_seconds
            self._beyond.append(now - save.durable_at)
            self._counts_later = True
            self._counts(step, save, now)
            # Earlier ones may never arrive.
            self._on_their_way = {later: one for later, one in self._on_their_way.items() if later > step}

    def unkept(self) -> MaxLossNotKept | None:
        return self._unkept.popleft() if self._unkept else None

    def interval_seconds(self) -> float:
        planned = _PLANNED * self._work_seconds
        if not self._durable:
            share = 1.0 if self._on_their_way else _BEFORE_THE_FIRST
            return max(self._step_seconds(), share * (planned - self._beyond_seconds()))
        return interval_seconds(
            self._save_times(), most_loss_seconds=planned, failures_per_hour=self._failures_per_hour
        )

    def _is_durable(self, step: int) -> None:
        save = self._on_their_way.get(step)
        if save is None:
            return
        save.durable_at = self._clock()
        self._last_durable = save.taken_at
        if not self._counts_later:
            self._counts(step, save, save.durable_at)

    def _counts(self, step: int, save: _OnItsWay, now: float) -> None:
        at_risk, self._safe_until = now - self._safe_until, save.taken_at
        if at_risk > self._work_seconds:
            self._say(
                at_risk, f"so long was it until step {step} counted, {now - save.taken_at:.1f} s after it was saved"
            )

    def _save_times(self) -> SaveTimes:
        durable = max(self._durable)
        return SaveTimes(
            step_seconds=self._step_seconds(),
            cost_seconds=statistics.median(self._costs.values()),
            durable_seconds=durable,
            safe_seconds=durable + self._beyond_seconds(),
        )

    def _beyond_seconds(self) -> float:
        return max(self._beyond, default=self._beyond_guess_seconds)

    def _step_seconds(self) -> float:
        return statistics.median(self._steps) if self._steps else 0.0

    def _look_whether_kept(self, waited_seconds: float) -> None:
        if not self._durable:
            return
        measured = self._save_times()
        interval = max(measured.least_seconds, waited_seconds)
        at_risk = interval + measured.safe_seconds
        if at_risk > self._work_seconds:
            self._say(
                at_risk,
                f"{interval:.1f} s lie between two saves, and {measured.safe_seconds:.1f} s until one counts; it is"
                f" written after {measured.durable_seconds:.1f} s, and a step takes {measured.step_seconds:.1f} s",
            )

    def _say(self, at_risk_seconds: float, reason: str) -> None:
        if not self._has_said:
            self._has_said = True
            self._unkept.append(MaxLossNotKept(self._step, self._work_seconds, at_risk_seconds, reason))


def _newest(by_step: dict[int, T], count: int) -> dict[int, T]:
    return dict(list(by_step.items())[-count:])
