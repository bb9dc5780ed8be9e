"""Explores every reachable state: any number of faults, two teardowns at once, stops at any moment.

Nothing is counted here: a call may fail any number of times, a wait may take any time. Checked in every state: no
promise is broken, and without a further fault, with the sweep alone, a clean end can be reached.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from belay.contract import tags
from tools.proofs.model import properties
from tools.proofs.model.system import Model, System
from tools.proofs.model.transitions import StateKey, Transitions

Progress = Callable[[int, int], None]


@dataclass
class Searched:
    states: int = 0
    transitions: int = 0
    complete: bool = True
    broken: dict[str, list[str]] = field(default_factory=dict)


class Search:
    """`faults=False`: only a stop of Train, anywhere, which takes little time. `begin`: another initial state."""

    def __init__(
        self,
        model: Model,
        *,
        most_states: int,
        faults: bool = True,
        begin: System | None = None,
        progress: Progress = lambda states, ahead: None,
    ) -> None:
        self._model = model
        self._most = most_states
        self._faults = faults
        self._begin = begin or model.begin()
        self._progress = progress
        self._transitions = Transitions(model)
        self._numbers: dict[StateKey, int] = {}
        self.states: list[StateKey] = []
        self._before: list[tuple[int, str]] = []
        self._predecessors: list[list[int]] = []
        # Predecessors from which this state is reached or another one; and how many such successors each has.
        self._maybe_predecessors: list[list[int]] = []
        self._choices: dict[int, int] = {}

    def run(self) -> Searched:
        found = Searched()
        self._add(self._transitions.number(self._begin), -1, "begin")
        ends: list[int] = []
        here = 0
        # The list of states is also the queue: new states are added at its end.
        while here < len(self.states) and not found.broken:
            if here % 50_000 == 0:
                self._progress(len(self.states), len(self.states) - here)
            system = self.system(here)
            if system.aws.broken:
                found.broken[system.aws.broken] = self._trace(here)
            elif is_idle(system) and properties.is_on_record(system.aws):
                ends.append(here)
            for transition in self._transitions.of(self.states[here]):
                if transition.cost and not self._faults:
                    continue
                found.transitions += 1
                known = self._numbers.get(transition.to)
                if known is None and len(self.states) < self._most:
                    known = self._add(transition.to, here, transition.label)
                if known is None:
                    found.complete = False
                elif transition.cost == 0 and transition.maybe:
                    self._maybe_predecessors[known].append(here)
                    self._choices[here] = self._choices.get(here, 0) + 1
                elif transition.cost == 0:
                    self._predecessors[known].append(here)
            here += 1
        found.states = len(self.states)
        if found.complete and not found.broken:
            self._find_dead_ends(ends, found)
        return found

    def system(self, number: int) -> System:
        return self._transitions.system(self.states[number])

    def _add(self, state: StateKey, before: int, label: str) -> int:
        self._numbers[state] = number = len(self.states)
        self.states.append(state)
        self._before.append((before, label))
        self._predecessors.append([])
        self._maybe_predecessors.append([])
        return number

    def _find_dead_ends(self, ends: list[int], found: Searched) -> None:
        """Backwards from every clean end along steps without faults. Of `maybe` steps, all must lead to a clean end."""
        can_end, ahead, left = set(ends), list(ends), dict(self._choices)
        while ahead:
            here = ahead.pop()
            for before in self._maybe_predecessors[here]:
                left[before] -= 1
            for before in (
                *self._predecessors[here],
                *(one for one in self._maybe_predecessors[here] if not left[one]),
            ):
                if before not in can_end:
                    can_end.add(before)
                    ahead.append(before)
        lost = next((one for one in range(len(self.states)) if one not in can_end), None)
        if lost is not None:
            found.broken["no clean end can be reached from here"] = self._trace(lost)

    def _trace(self, place: int) -> list[str]:
        labels = []
        while place >= 0:
            place, label = self._before[place]
            labels.append(label)
        return labels[::-1]


def is_idle(system: System) -> bool:
    """Nothing is left that the sweep would find."""
    if system.train is not None or system.teardowns:
        return False
    aws = system.aws
    if any(one.may_write for one in aws.trainings):
        return False
    return all(one.lifecycle == "FAILED" and one.tags.get(tags.STATE) == tags.State.KEPT for one in aws.file_systems)
