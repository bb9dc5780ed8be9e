"""All schedules with at most so many faults, and StopExecution before every state of them.

Schedules that come to the same place go on together: each place is worked out once, and how many schedules lead through
it is counted. Nothing is left out by that, and no schedule is run twice. A place that is done with is remembered by its
64-bit hash alone, as other model checkers do it, so that a million of them fit anywhere.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from tests.model import properties, s3
from tests.model.interpreter import GoesRound
from tests.model.net import Net, Step, System
from tests.model.schedules import is_stop, next_steps, outcome

Place = tuple[System, int]
"""Where a schedule stands, and how many faults it may still have."""

# The longest schedule that comes to an end is far shorter.
LONGEST = 20_000


class Broken(Exception):
    """A promise is, and that is enough."""


@dataclass
class Explored:
    """`broken`: each promise that was seen broken, with the first way there."""

    schedules: int
    places: int
    broken: dict[str, list[str]]


class Behaviour(NamedTuple):
    """All that follows a place: how many schedules, and everything that can be seen of them from outside in one number.

    `stop` is what comes of a stop right now: one that comes to the same as a stop a step later is not told apart.
    """

    schedules: int
    sum: int = 0
    stop: int = 0


@dataclass
class _Open:
    """A place of which not all that follows is known yet; `step` is the one that is being looked into."""

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
            # What follows silently belongs to what follows, and is seen there.
            self.sum += hash((self.step.label.partition("\n")[0], self.step.told, after.sum))
        else:
            self.sum += hash((self.step.told, after.sum)) if self.step.told else after.sum
            self.following = after.stop

    def behaviour(self) -> Behaviour:
        stop = hash(self.stop) if self.stop != self.following else 0
        return Behaviour(self.schedules, (self.sum + stop) % 2**61, self.stop)


class Explorer:
    """`faults` is how many a schedule may have; a walk may begin anywhere, with fewer left. With `first` the first
    broken promise ends it. `stopped` takes one part of the schedules: those in which Train is stopped, or the others.
    """

    def __init__(
        self, net: Net, *, faults: int, stopped: bool | None = None, keep: bool = False, first: bool = False
    ) -> None:
        self._net = net
        self._faults = faults
        self._stopped = stopped
        self._first = first
        self._known: dict[int, Behaviour] = {}
        self.kept: list[Place] | None = [] if keep else None
        self.broken: dict[str, list[str]] = {}

    @cached_property
    def result(self) -> Explored:
        all_of_it = self.walk((self._net.begin(), self._faults))
        return Explored(all_of_it.schedules, len(self._known), self.broken)

    def walk(self, begin: Place) -> Behaviour:
        """In depth; what follows a place is known when all steps from it have been looked into."""
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
        """What follows, if that is known already or nothing does; else the place is added to the path."""
        key = hash(place)
        if key in self._known:
            return self._known[key]
        if self.kept is not None:
            self.kept.append(place)
        if len(path) > LONGEST:
            raise GoesRound(label)
        system, _ = place
        if self._stopped and system.train is None and not system.cut:
            self._known[key] = Behaviour(0)
            return self._known[key]
        wrong = system.world.broken or properties.at_any_time(system.world)
        ahead = [] if wrong else self.steps(place)
        if ahead:
            path.append(_Open(place, label, iter(ahead)))
            return None
        fault = wrong or properties.at_the_end(system)
        if fault and fault not in self.broken:
            self.broken[fault] = [*(one.label for one in path), label]
            if self._first:
                raise Broken(fault)
        self._known[key] = Behaviour(1, hash((outcome(system), system.world.s3.get(s3.PREFIX.certificate))))
        return self._known[key]

    def steps(self, place: Place) -> list[Step]:
        """What may happen next, with the faults that are left."""
        system, left = place
        # Most places are reached with no fault left: what could still go wrong there need not be worked out.
        self._net.around.faults = left > 0
        ahead = next_steps(self._net, system, stops=self._stopped is not False)
        return [one for one in ahead if one.cost <= left]
