"""What may happen next when nothing is counted: any fault, any number of times, whoever's turn it is."""

from collections.abc import Iterator

from tests.model import functions, tokens
from tests.model.net import Net, Step, System
from tests.model.values import EMPTY

MOST_TEARDOWNS = 2


def steps(net: Net, system: System) -> Iterator[Step]:
    if system.train is not None:
        yield from of_train(net, system)
    for index in range(len(system.teardowns)):
        yield from of_teardown(net, system, index)
    yield from starts(net, system)
    yield from by_itself(net, system)


def of_train(net: Net, system: System) -> Iterator[Step]:
    """It goes on, or is stopped."""
    yield from net.train_steps(system)
    yield from net.cut_off(system, "ABORTED")


def of_teardown(net: Net, system: System, index: int = 0) -> Iterator[Step]:
    """It goes on, or is stopped."""
    for step in (*net.teardown_steps(system, index), net.stop_teardown(system, index)):
        yield _uncounted(step, system.teardowns[index].slot)


def _uncounted(step: Step, slot: str) -> Step:
    """Proofs are not counted: whether there were too many is decided when it is asked (`interpreter.py`)."""
    running, world = list(step.to.teardowns), step.to.world
    for index, one in enumerate(running):
        if one.slot == slot:
            running[index], world = tokens.uncounted(one, world)
    return step._replace(to=step.to._replace(teardowns=tuple(running), world=world))


def starts(net: Net, system: System) -> Iterator[Step]:
    if system.train is not None or len(system.teardowns) == MOST_TEARDOWNS:
        return
    names = tuple(one.slot for one in system.teardowns)
    for new in starts_beside(net, system._replace(teardowns=()), names):
        yield new._replace(to=new.to._replace(teardowns=(*system.teardowns, *new.to.teardowns)))


def starts_beside(net: Net, system: System, names: tuple[str, ...] = ()) -> Iterator[Step]:
    """Another teardown, beside those of these names: what it sees first has nothing to do with where they stand."""
    system = system._replace(world=system.world._replace(teardowns=names))
    yield from _begun(net, Step("an event starts a teardown", 1, net.rescue(system)))
    swept = net.sweep(system)
    if swept is not None:
        yield from _begun(net, Step("the sweep starts a teardown", 0, swept))


def _begun(net: Net, start: Step) -> Iterator[Step]:
    """A teardown that has not looked yet changes nothing: it is taken to start when it looks."""
    for step in net.teardown_steps(start.to, 0):
        if start.to.teardowns[0] not in step.to.teardowns:
            yield Step(f"{start.label}\n{step.label}", start.cost + step.cost, step.to, step.maybe)


def by_itself(net: Net, system: System) -> Iterator[Step]:
    """What changes without anybody, and what the pump does."""
    world = system.world
    for thing in net.around.things(world):
        for one in net.around.developments(thing, world):
            yield Step(one.label, one.cost, net.tidied(system._replace(world=one.world)))
    pumped, _ = functions.ask("pump", EMPTY, world)
    yield Step("the pump asks for an export", 1, net.tidied(system._replace(world=pumped)))
