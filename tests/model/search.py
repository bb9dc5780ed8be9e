"""Every state that the whole system can ever reach: faults without end, two teardowns at once, stops at any moment.

Nothing is counted here: a call may fail any number of times, a wait may take any time. What is asked of every state is
that no promise is broken in it, and that with no further fault, and with the sweep alone, a clean end can be reached.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.model import functions, properties
from tests.model.net import Net, Step, System
from tests.model.values import EMPTY
from tests.model.world import FileSystem

Progress = Callable[[int, int], None]


@dataclass
class Searched:
    states: int = 0
    transitions: int = 0
    complete: bool = True
    broken: dict[str, list[str]] = field(default_factory=dict)


class Search:
    def __init__(self, net: Net, *, most_states: int, progress: Progress = lambda states, ahead: None) -> None:
        self._net = net
        self._most = most_states
        self._progress = progress
        self._places: dict[System, int] = {}
        self._systems: list[System] = []
        self._before: list[tuple[int, str]] = []
        self._led_by: list[list[int]] = []

    def run(self) -> Searched:
        found = Searched()
        ahead = deque([self._number(self._net.begin(), -1, "begin")])
        good: list[int] = []
        while ahead:
            here = ahead.popleft()
            system = self._systems[here]
            if here % 20_000 == 0:
                self._progress(len(self._systems), len(ahead))
            fault = system.world.broken or (at_rest(system) and _wrong(system))
            if fault:
                found.broken.setdefault(fault, self._trace(here))
                continue
            if at_rest(system):
                good.append(here)
            for step in self._steps(system):
                found.transitions += 1
                known = self._places.get(step.to)
                if known is None:
                    if len(self._systems) >= self._most:
                        found.complete = False
                        continue
                    known = self._number(step.to, here, step.label)
                    ahead.append(known)
                if step.cost == 0:
                    self._led_by[known].append(here)
        found.states = len(self._systems)
        if found.complete and not found.broken:
            self._without_a_way_home(good, found)
        return found

    def _number(self, system: System, before: int, label: str) -> int:
        self._places[system] = number = len(self._systems)
        self._systems.append(system)
        self._before.append((before, label))
        self._led_by.append([])
        return number

    def _without_a_way_home(self, good: list[int], found: Searched) -> None:
        """Backwards from every clean end, along steps that need no fault."""
        home, ahead = set(good), list(good)
        while ahead:
            for before in self._led_by[ahead.pop()]:
                if before not in home:
                    home.add(before)
                    ahead.append(before)
        lost = next((one for one in range(len(self._systems)) if one not in home), None)
        if lost is not None:
            found.broken["no clean end can be reached from here"] = self._trace(lost)

    def _trace(self, place: int) -> list[str]:
        told = []
        while place >= 0:
            place, label = self._before[place]
            told.append(label)
        return told[::-1]

    # ---- what may happen

    def _steps(self, system: System) -> Iterator[Step]:
        net = self._net
        if system.train is not None:
            yield from net.train_steps(system)
            yield from net.cut_off(system, "ABORTED")
        for index in range(len(system.teardowns)):
            yield from net.teardown_steps(system, index)
            yield net.stop_teardown(system, index)
        if system.train is None and len(system.teardowns) < 2:
            yield Step("an event starts a teardown", 1, net.rescue(system))
            swept = net.sweep(system)
            if swept is not None:
                yield Step("the sweep starts a teardown", 0, swept)
        for thing in net.around.things(system.world):
            for other in net.around.developments(thing, system.world):
                yield Step(other.label, other.cost, net.tidied(system._replace(world=other.world)))
        pumped, _ = functions.ask("pump", EMPTY, system.world)
        yield Step("the pump asks for an export", 1, system._replace(world=pumped))


def at_rest(system: System) -> bool:
    """Nothing is left that the sweep would find."""
    if system.train is not None or system.teardowns:
        return False
    world = system.world
    if any(one.may_write for one in world.trainings):
        return False
    return all(one.lifecycle == "FAILED" and kept(one) for one in world.file_systems)


def kept(one: FileSystem) -> bool:
    return one.tags.get("belay:state") == "kept"


def _wrong(system: System) -> str | None:
    return properties.lies_of_train(system.world) or properties.lies_of_certificate(system.world)
