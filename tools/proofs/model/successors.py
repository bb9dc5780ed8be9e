"""All successors of a state when nothing is counted: any fault, any number of times, in any order."""

from collections.abc import Iterator

from tools.proofs.model import functions, tokens
from tools.proofs.model.system import Model, Step, System
from tools.proofs.model.values import EMPTY


def steps(model: Model, system: System) -> Iterator[Step]:
    if system.train is not None:
        yield from of_train(model, system)
    for index in range(len(system.teardowns)):
        yield from of_teardown(model, system, index)
    yield from starts(model, system)
    yield from by_itself(model, system)


def of_train(model: Model, system: System) -> Iterator[Step]:
    """Its next steps, or a stop."""
    yield from model.train_steps(system)
    yield from model.stop_train(system, "ABORTED")


def of_teardown(model: Model, system: System, index: int = 0) -> Iterator[Step]:
    """Its next steps, or a stop."""
    for step in (*model.teardown_steps(system, index), model.stop_teardown(system, index)):
        yield _uncounted(step, system.teardowns[index].slot)


def _uncounted(step: Step, slot: str) -> Step:
    """The number of proofs is not counted: the state that checks it decides (`interpreter.py`)."""
    running, aws = list(step.to.teardowns), step.to.aws
    for index, one in enumerate(running):
        if one.slot == slot:
            running[index], aws = tokens.uncounted(one, aws)
    return step._replace(to=step.to._replace(teardowns=tuple(running), aws=aws))


def starts(model: Model, system: System) -> Iterator[Step]:
    if system.train is not None or len(system.teardowns) == model.most_teardowns:
        return
    names = tuple(one.slot for one in system.teardowns)
    for new in starts_beside(model, system._replace(teardowns=()), names):
        yield new._replace(to=new.to._replace(teardowns=(*system.teardowns, *new.to.teardowns)))


def starts_beside(model: Model, system: System, names: tuple[str, ...] = ()) -> Iterator[Step]:
    """Another teardown beside those with these names; its first steps do not depend on their states."""
    system = system._replace(aws=system.aws._replace(teardowns=names))
    yield from _begun(model, Step("an event starts a teardown", 1, model.rescue(system)))
    swept = model.sweep(system)
    if swept is not None:
        yield from _begun(model, Step("the sweep starts a teardown", 0, swept))


def _begun(model: Model, start: Step) -> Iterator[Step]:
    """Before its first call a teardown changes nothing: it counts as started with that call."""
    for step in model.teardown_steps(start.to, 0):
        if start.to.teardowns[0] not in step.to.teardowns:
            yield Step(f"{start.label}\n{step.label}", start.cost + step.cost, step.to, step.maybe)


def by_itself(model: Model, system: System) -> Iterator[Step]:
    """What changes by itself, and what the pump does."""
    aws = system.aws
    for resource in model.environment.resources(aws):
        for one in model.environment.next_of(resource, aws):
            yield Step(one.label, one.cost, model.without_old_tasks(system._replace(aws=one.aws)))
    pumped, _ = functions.ask("pump", EMPTY, aws)
    yield Step("the pump asks for an export", 1, model.without_old_tasks(system._replace(aws=pumped)))
