"""What may happen next when nothing is counted: any fault, any number of times, whoever's turn it is."""

from collections.abc import Iterator

from tests.model import functions
from tests.model.net import Net, Step, System
from tests.model.values import EMPTY

MOST_TEARDOWNS = 2


def steps(net: Net, system: System) -> Iterator[Step]:
    yield from of_executions(net, system)
    yield from starts(net, system)
    yield from by_itself(net, system)


def of_executions(net: Net, system: System) -> Iterator[Step]:
    """Each that runs goes on, or is stopped."""
    if system.train is not None:
        yield from net.train_steps(system)
        yield from net.cut_off(system, "ABORTED")
    for index in range(len(system.teardowns)):
        yield from net.teardown_steps(system, index)
        yield net.stop_teardown(system, index)


def starts(net: Net, system: System) -> Iterator[Step]:
    if system.train is not None or len(system.teardowns) == MOST_TEARDOWNS:
        return
    system = system._replace(world=system.world._replace(teardowns=tuple(one.slot for one in system.teardowns)))
    yield from _begun(net, Step("an event starts a teardown", 1, net.rescue(system)))
    swept = net.sweep(system)
    if swept is not None:
        yield from _begun(net, Step("the sweep starts a teardown", 0, swept))


def _begun(net: Net, start: Step) -> Iterator[Step]:
    """A teardown that has not looked yet changes nothing: it is taken to start when it looks."""
    index = len(start.to.teardowns) - 1
    for step in net.teardown_steps(start.to, index):
        if start.to.teardowns[index] not in step.to.teardowns:
            yield Step(f"{start.label}\n{step.label}", start.cost + step.cost, step.to)


def by_itself(net: Net, system: System) -> Iterator[Step]:
    """What changes without anybody, and what the pump does."""
    world = system.world
    for thing in net.around.things(world):
        for one in net.around.developments(thing, world):
            yield Step(one.label, one.cost, net.tidied(system._replace(world=one.world)))
    pumped, _ = functions.ask("pump", EMPTY, world)
    yield Step("the pump asks for an export", 1, net.tidied(system._replace(world=pumped)))
