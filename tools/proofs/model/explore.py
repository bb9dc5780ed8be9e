"""All schedules with a bounded number of faults, and with StopExecution before every state.

Schedules that reach the same place share what follows: each place is expanded once, and the schedules through it are
counted. An expanded place is remembered by its 64-bit hash alone (hash compaction), so that millions fit in memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tools.proofs.model import properties, s3
from tools.proofs.model.interpreter import EndlessLoop
from tools.proofs.model.schedules import is_stop, next_steps, outcome
from tools.proofs.model.system import Model, Step, System

Place = tuple[System, int]
"""A state of the system, and how many faults the schedule may still have."""

# Every schedule that ends is far shorter.
LONGEST = 20_000


class PromiseBroken(Exception):
    """Ends a walk that only looks for the first broken promise."""


@dataclass
class Explored:
    """`broken`: each promise that was broken, with the first path to it."""

    schedules: int
    places: int
    broken: dict[str, list[str]]


class Behaviour(NamedTuple):
    """All that follows a place: the number of schedules, and one hash of everything that can be observed of them.

    `stop`: the same for a stop at this place; it counts only if it differs from that of a stop one step later.
    """

    schedules: int
    sum: int = 0
    stop: int = 0


@dataclass
class _Open:
    """A place on the path of the depth-first search; `step` is the one that is being explored."""

    place: Place
    label: str
    ahead: Iterator[Step]
    step: Step | None = None
    schedules: int = 0
    sum: int = 0
    stop: int = 0
    following: int = 0

    def add(self, after: Behaviour) -> None:
        assert self.step is not None
        self.schedules += after.schedules
        if is_stop(self.place[0], self.step):
            self.stop = hash((self.stop, self.step.label, after.sum))
        elif self.step.cost:
            # The rest of the label is observed in what follows.
            self.sum += hash((self.step.label.partition("\n")[0], self.step.observed, after.sum))
        else:
            self.sum += hash((self.step.observed, after.sum)) if self.step.observed else after.sum
            self.following = after.stop

    def behaviour(self) -> Behaviour:
        stop = hash(self.stop) if self.stop != self.following else 0
        return Behaviour(self.schedules, (self.sum + stop) % 2**61, self.stop)


class Explorer:
    """`faults`: the most of a schedule. `first`: the first broken promise ends the walk. `keep`: remember the places.
    `stopped`: only the schedules in which Train is stopped, or only the others.
    """

    def __init__(
        self, model: Model, *, faults: int, stopped: bool | None = None, keep: bool = False, first: bool = False
    ) -> None:
        self._model = model
        self._faults = faults
        self._stopped = stopped
        self._first = first
        self._known: dict[int, Behaviour] = {}
        self.kept: list[Place] | None = [] if keep else None
        self.broken: dict[str, list[str]] = {}

    @cached_property
    def result(self) -> Explored:
        all_of_it = self.walk((self._model.begin(), self._faults))
        return Explored(all_of_it.schedules, len(self._known), self.broken)

    def walk(self, begin: Place) -> Behaviour:
        """Depth first; what follows a place is known when all its steps have been explored."""
        path: list[_Open] = []
        known = self._enter(begin, "begin", path)
        while path:
            here = path[-1]
            if known is not None:
                here.add(known)
            here.step = next(here.ahead, None)
            if here.step is None:
                path.pop()
                known = self._known[hash(here.place)] = here.behaviour()
            else:
                known = self._enter((here.step.to, here.place[1] - here.step.cost), here.step.label, path)
        assert known is not None
        return known

    def _enter(self, place: Place, label: str, path: list[_Open]) -> Behaviour | None:
        """What follows, if it is known or the place is an end; else the place is added to the path."""
        key = hash(place)
        if key in self._known:
            return self._known[key]
        if self.kept is not None:
            self.kept.append(place)
        if len(path) > LONGEST:
            raise EndlessLoop(label)
        system, _ = place
        if self._stopped and system.train is None and not system.stopped:
            self._known[key] = Behaviour(0)
            return self._known[key]
        wrong = system.aws.broken or properties.at_any_time(system.aws)
        ahead = [] if wrong else self.steps(place)
        if ahead:
            path.append(_Open(place, label, iter(ahead)))
            return None
        fault = wrong or properties.at_the_end(system)
        if fault and fault not in self.broken:
            self.broken[fault] = [*(one.label for one in path), label]
            if self._first:
                raise PromiseBroken(fault)
        self._known[key] = Behaviour(1, hash((outcome(system), system.aws.s3.get(s3.PREFIX.certificate))))
        return self._known[key]

    def steps(self, place: Place) -> list[Step]:
        """The next steps that the remaining faults allow."""
        system, left = place
        # Most places have no fault left: then faulty answers need not be computed.
        self._model.environment.faults = left > 0
        ahead = next_steps(self._model, system, stops=self._stopped is not False)
        return [one for one in ahead if one.cost <= left]
