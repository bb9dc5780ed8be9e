"""Single schedules of the model, written down so that another interpreter can be put through the very same ones."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.model import s3
from tests.model.clients import JOB_FILE
from tests.model.net import Net, Step, System, Teardown
from tests.model.schedules import is_stop, next_steps
from tests.model.standing import Answer, Call
from tests.model.surroundings import Surroundings
from tests.model.values import thaw
from tests.model.world import End, World

# The model sets a poll's counter to reach its limit at once; nothing outside could do the same.
NOT_PLAYED = "(until the limit)"
_MARK = re.compile("\0([0-9]+)\0")


class Said(NamedTuple):
    """An answer, to which state's call; `arguments` is None when a `.sync` task that was waited for has ended."""

    execution: str
    state: str
    arguments: Any
    result: Any


@dataclass
class Execution:
    """What one execution asked and heard, in order, and how it ended; `end` is None where it was stopped."""

    machine: str
    arn: str
    name: str
    input: Any
    said: list[Said] = field(default_factory=list)
    end: End | None = None
    is_over: bool = False


class _Noting(Surroundings):
    """Numbers every answer it offers; the number travels in the label, and tells which one was taken."""

    def __init__(self, *, most_saves: int) -> None:
        super().__init__(exact=True, most_saves=most_saves)
        self.offered: list[Said] = []

    def answers(self, call: Call, world: World) -> Iterator[Answer]:
        for answer in super().answers(call, world):
            yield self._noted(answer, Said(call.execution, call.state, thaw(call.arguments), answer.result))

    def ended(self, waiting: str, world: World) -> Iterator[Answer] | None:
        answers = super().ended(waiting, world)
        return answers if answers is None else (self._of_wait(answer) for answer in answers)

    def time_limit(self, waiting: str, world: World) -> Iterator[Answer]:
        return (self._of_wait(answer) for answer in super().time_limit(waiting, world))

    def _of_wait(self, answer: Answer) -> Answer:
        return self._noted(answer, Said("train", "", None, answer.result))

    def _noted(self, answer: Answer, said: Said) -> Answer:
        self.offered.append(said)
        return answer._replace(label=f"{answer.label}\0{len(self.offered) - 1}\0")


class _Telling(Net):
    """Leaves the end of every teardown where the recorder finds it."""

    def _teardown_ended(self, system: System, index: int, end: End) -> System:
        after = super()._teardown_ended(system, index, end)
        return after if after.world.child else after._replace(world=after.world._replace(child=end))


class Recorder:
    """Draws schedules at random: where nothing is drawn, all goes as usual."""

    def __init__(self, net: Net, *, rng: random.Random) -> None:
        assert isinstance(net.around, _Noting)
        self._net, self._around, self._rng = net, net.around, rng

    def schedule(self, *, faults: int, stop: bool) -> tuple[list[Execution], list[str]]:
        """All executions of one schedule with at most so many faults, and the story of it."""
        system, left = self._net.begin(), faults
        story: list[str] = []
        executions = [Execution("Train", s3.TRAIN, "first", JOB_FILE)]
        # Drawn beforehand, so that late states are hit as often as early ones.
        turns = sorted(self._rng.sample(range(60), faults))
        stop_at = self._rng.randrange(60) if stop else None
        for turn in range(10_000):
            self._around.offered.clear()
            steps = [one for one in next_steps(self._net, system) if NOT_PLAYED not in one.label]
            stops = [one for one in steps if is_stop(system, one) and not one.cost]
            usual = [one for one in steps if not one.cost and not is_stop(system, one)]
            faulty = [one for one in steps if one.cost == 1 and left]
            if not steps:
                return executions, story
            if stops and stop_at is not None and turn >= stop_at:
                step = stops[0]
            elif faulty and turns and turn >= turns[0]:
                turns.pop(0)
                step = self._rng.choice(faulty)
            else:
                step = usual[0]
            left -= step.cost
            story.append(_MARK.sub("", step.label))
            system = self._follow(system, step, executions)
        raise AssertionError("a schedule without an end")

    def _follow(self, before: System, step: Step, executions: list[Execution]) -> System:
        system = step.to
        alive = {(one.machine, one.name): one for one in executions if not one.is_over}
        train = alive.get(("Train", "first"))
        for said in (self._around.offered[int(number)] for number in _MARK.findall(step.label)):
            key = ("Train", "first") if said.execution == "train" else ("Teardown", said.execution)
            alive[key].said.append(said)
        for one in before.teardowns:
            if not any(one.slot == other.slot for other in system.teardowns):
                end, execution = system.world.child, alive["Teardown", one.slot]
                execution.is_over = True
                execution.end = None if end is None or end.status == "ABORTED" else end
                if not one.is_child or system.train is None:
                    system = system._replace(world=system.world._replace(child=None))
        executions += [_begun(one) for one in system.teardowns if _is_new(one, before)]
        if train is not None and system.train is None:
            end = system.world.train
            train.is_over = True
            train.end = None if end is None or end.status == "ABORTED" else end
        return system


def _is_new(teardown: Teardown, before: System) -> bool:
    return all(one.slot != teardown.slot for one in before.teardowns)


def _begun(teardown: Teardown) -> Execution:
    arn = f"{s3.TEARDOWNS.replace('stateMachine', 'execution')}:{teardown.slot}"
    return Execution("Teardown", arn, teardown.slot, thaw(teardown.input))


def recorder(definitions: dict[str, Any], rescued: frozenset[str], *, seed: int) -> Recorder:
    net = _Telling(definitions, rescued, _Noting(most_saves=2), pruned=False)
    return Recorder(net, rng=random.Random(seed))
