"""Every state that the whole system can ever reach: faults without end, two teardowns at once, stops at any moment.

Nothing is counted here: a call may fail any number of times, a wait may take any time. What is asked of every state is
that no promise is broken in it, and that with no further fault, and with the sweep alone, a clean end can be reached.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from contract import tags
from tests.model import properties
from tests.model.net import Net, System
from tests.model.numbered import Numbered, Steps

Progress = Callable[[int, int], None]


@dataclass
class Searched:
    states: int = 0
    transitions: int = 0
    complete: bool = True
    broken: dict[str, list[str]] = field(default_factory=dict)


class Search:
    """Without `faults` nothing goes wrong but that Train may be stopped anywhere: that is soon done with. It may begin
    anywhere, too.
    """

    def __init__(
        self,
        net: Net,
        *,
        most_states: int,
        faults: bool = True,
        begin: System | None = None,
        progress: Progress = lambda states, ahead: None,
    ) -> None:
        self._net = net
        self._most = most_states
        self._faults = faults
        self._begin = begin or net.begin()
        self._progress = progress
        self._steps = Steps(net)
        self._numbers: dict[Numbered, int] = {}
        self.states: list[Numbered] = []
        self._before: list[tuple[int, str]] = []
        self._led_by: list[list[int]] = []
        # What leads here or elsewhere; and into how many states that may be.
        self._maybe_led_by: list[list[int]] = []
        self._forks: dict[int, int] = {}

    def run(self) -> Searched:
        found = Searched()
        self._add(self._steps.number(self._begin), -1, "begin")
        ends: list[int] = []
        here = 0
        # The list of states is its own queue: what is found is added at its end.
        while here < len(self.states) and not found.broken:
            if here % 50_000 == 0:
                self._progress(len(self.states), len(self.states) - here)
            system = self.system(here)
            if system.world.broken:
                found.broken[system.world.broken] = self._trace(here)
            elif at_rest(system) and properties.is_on_record(system.world):
                ends.append(here)
            for arrow in self._steps.of(self.states[here]):
                if arrow.cost and not self._faults:
                    continue
                found.transitions += 1
                known = self._numbers.get(arrow.to)
                if known is None and len(self.states) < self._most:
                    known = self._add(arrow.to, here, arrow.label)
                if known is None:
                    found.complete = False
                elif arrow.cost == 0 and arrow.maybe:
                    self._maybe_led_by[known].append(here)
                    self._forks[here] = self._forks.get(here, 0) + 1
                elif arrow.cost == 0:
                    self._led_by[known].append(here)
            here += 1
        found.states = len(self.states)
        if found.complete and not found.broken:
            self._without_a_way_home(ends, found)
        return found

    def system(self, number: int) -> System:
        return self._steps.system(self.states[number])

    def _add(self, state: Numbered, before: int, label: str) -> int:
        self._numbers[state] = number = len(self.states)
        self.states.append(state)
        self._before.append((before, label))
        self._led_by.append([])
        self._maybe_led_by.append([])
        return number

    def _without_a_way_home(self, ends: list[int], found: Searched) -> None:
        """Backwards from every clean end, along steps that need no fault. Of a fork each way must lead there."""
        home, ahead, left = set(ends), list(ends), dict(self._forks)
        while ahead:
            here = ahead.pop()
            for before in self._maybe_led_by[here]:
                left[before] -= 1
            for before in (*self._led_by[here], *(one for one in self._maybe_led_by[here] if not left[one])):
                if before not in home:
                    home.add(before)
                    ahead.append(before)
        lost = next((one for one in range(len(self.states)) if one not in home), None)
        if lost is not None:
            found.broken["no clean end can be reached from here"] = self._trace(lost)

    def _trace(self, place: int) -> list[str]:
        told = []
        while place >= 0:
            place, label = self._before[place]
            told.append(label)
        return told[::-1]


def at_rest(system: System) -> bool:
    """Nothing is left that the sweep would find."""
    if system.train is not None or system.teardowns:
        return False
    world = system.world
    if any(one.may_write for one in world.trainings):
        return False
    return all(one.lifecycle == "FAILED" and one.tags.get(tags.STATE) == tags.State.KEPT for one in world.file_systems)
