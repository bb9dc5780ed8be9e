"""Draws random schedules in the model and records them, so that another interpreter can replay them."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tools.proofs.model import s3
from tools.proofs.model.aws_state import AwsState, End
from tools.proofs.model.clients import JOB_FILE
from tools.proofs.model.environment import AwsEnvironment
from tools.proofs.model.execution import Answer, Call
from tools.proofs.model.schedules import is_stop, next_steps
from tools.proofs.model.system import Model, Step, System, Teardown
from tools.proofs.model.values import thaw

# The model sets the counter of a poll to its limit; no answer could do that.
NOT_REPLAYED = "(until the limit)"
_MARK = re.compile("\0([0-9]+)\0")


class RecordedAnswer(NamedTuple):
    """The answer to a call of a state; `arguments` is None for the end of a `.sync` task."""

    execution: str
    state: str
    arguments: Any
    result: Any


@dataclass
class Execution:
    """The calls and answers of one execution, in order, and how it ended; `end` is None where it was stopped."""

    machine: str
    arn: str
    name: str
    input: Any
    answers: list[RecordedAnswer] = field(default_factory=list)
    end: End | None = None
    is_over: bool = False


class _RecordingEnvironment(AwsEnvironment):
    """Numbers every answer that it offers; the number in the label of a step shows which answers were taken."""

    def __init__(self, *, most_saves: int) -> None:
        super().__init__(exact=True, most_saves=most_saves)
        self.offered: list[RecordedAnswer] = []

    def answers(self, call: Call, aws: AwsState) -> Iterator[Answer]:
        for answer in super().answers(call, aws):
            yield self._numbered(
                answer, RecordedAnswer(call.execution, call.state, thaw(call.arguments), answer.result)
            )

    def ended(self, waiting: str, aws: AwsState) -> Iterator[Answer] | None:
        answers = super().ended(waiting, aws)
        return answers if answers is None else (self._of_wait(answer) for answer in answers)

    def time_limit(self, waiting: str, aws: AwsState) -> Iterator[Answer]:
        return (self._of_wait(answer) for answer in super().time_limit(waiting, aws))

    def _of_wait(self, answer: Answer) -> Answer:
        return self._numbered(answer, RecordedAnswer("train", "", None, answer.result))

    def _numbered(self, answer: Answer, recorded: RecordedAnswer) -> Answer:
        self.offered.append(recorded)
        return answer._replace(label=f"{answer.label}\0{len(self.offered) - 1}\0")


class _RecordingModel(Model):
    """Keeps the end of every teardown for the recorder."""

    def _teardown_ended(self, system: System, index: int, end: End) -> System:
        after = super()._teardown_ended(system, index, end)
        return after if after.aws.child else after._replace(aws=after.aws._replace(child=end))


class Recorder:
    """Draws schedules at random: some steps are faults, all others the usual ones."""

    def __init__(self, model: Model, *, rng: random.Random) -> None:
        assert isinstance(model.environment, _RecordingEnvironment)
        self._model, self._environment, self._rng = model, model.environment, rng

    def schedule(self, *, faults: int, stop: bool) -> tuple[list[Execution], list[str]]:
        """All executions of one schedule with at most so many faults, and its steps."""
        system, left = self._model.begin(), faults
        taken: list[str] = []
        executions = [Execution("Train", s3.TRAIN, "first", JOB_FILE)]
        # Drawn before the walk, so that late states get as many faults as early ones.
        turns = sorted(self._rng.sample(range(60), faults))
        stop_at = self._rng.randrange(60) if stop else None
        for turn in range(10_000):
            self._environment.offered.clear()
            steps = [one for one in next_steps(self._model, system) if NOT_REPLAYED not in one.label]
            stops = [one for one in steps if is_stop(system, one) and not one.cost]
            usual = [one for one in steps if not one.cost and not is_stop(system, one)]
            faulty = [one for one in steps if one.cost == 1 and left]
            if not steps:
                return executions, taken
            if stops and stop_at is not None and turn >= stop_at:
                step = stops[0]
            elif faulty and turns and turn >= turns[0]:
                turns.pop(0)
                step = self._rng.choice(faulty)
            else:
                step = usual[0]
            left -= step.cost
            taken.append(_MARK.sub("", step.label))
            system = self._follow(system, step, executions)
        raise AssertionError("a schedule without an end")

    def _follow(self, before: System, step: Step, executions: list[Execution]) -> System:
        system = step.to
        alive = {(one.machine, one.name): one for one in executions if not one.is_over}
        train = alive.get(("Train", "first"))
        for answer in (self._environment.offered[int(number)] for number in _MARK.findall(step.label)):
            key = ("Train", "first") if answer.execution == "train" else ("Teardown", answer.execution)
            alive[key].answers.append(answer)
        for one in before.teardowns:
            if not any(one.slot == other.slot for other in system.teardowns):
                end, execution = system.aws.child, alive["Teardown", one.slot]
                execution.is_over = True
                execution.end = None if end is None or end.status == "ABORTED" else end
                if not one.is_child or system.train is None:
                    system = system._replace(aws=system.aws._replace(child=None))
        executions += [_begun(one) for one in system.teardowns if _is_new(one, before)]
        if train is not None and system.train is None:
            end = system.aws.train
            train.is_over = True
            train.end = None if end is None or end.status == "ABORTED" else end
        return system


def _is_new(teardown: Teardown, before: System) -> bool:
    return all(one.slot != teardown.slot for one in before.teardowns)


def _begun(teardown: Teardown) -> Execution:
    arn = f"{s3.TEARDOWNS.replace('stateMachine', 'execution')}:{teardown.slot}"
    return Execution("Teardown", arn, teardown.slot, thaw(teardown.input))


def recorder(definitions: dict[str, Any], rescued: frozenset[str], *, seed: int) -> Recorder:
    model = _RecordingModel(definitions, rescued, _RecordingEnvironment(most_saves=2), pruned=False)
    return Recorder(model, rng=random.Random(seed))
