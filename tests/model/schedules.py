"""What may happen next on a schedule: one thing after the other, in a fixed order.

Schedules differ in their faults and in where Train is stopped. Who else runs at the same time takes turns; every order
of everything is what the search is for.
"""

from collections.abc import Iterator

from contract import tags
from tests.model import properties, s3
from tests.model.interpreter import GoesRound
from tests.model.net import Net, Step, System
from tests.model.world import FileSystem

# An ordinary run passes through a fifth of them.
MOST_STATES = 300


def next_steps(net: Net, system: System, *, stops: bool = True) -> list[Step]:
    """Without `stops` nobody stops Train."""
    return list(_next_steps(net, system, stops))


def _next_steps(net: Net, system: System, stops: bool) -> Iterator[Step]:
    child = next((index for index, one in enumerate(system.teardowns) if one.is_child), None)
    if system.train is not None:
        if stops:
            yield from net.cut_off(system, "ABORTED")
        if child is not None and system.train.waiting:
            yield from _teardown(net, system, child)
        else:
            yield from net.train_steps(system)
    elif system.teardowns:
        yield from _teardown(net, system, system.turn % len(system.teardowns))
    elif system.rescue != "nothing":
        yield Step("EventBridge starts the rescue", 0, net.rescue(system))
        yield Step("EventBridge starts the rescue twice", 1, net.rescue(net.rescue(system)))
        yield Step("EventBridge loses the event", 1, system._replace(rescue="nothing"))
    elif system.swept != hash(system.world):
        swept = net.sweep(system)
        if swept is not None:
            yield Step("the sweep starts a teardown", 0, swept._replace(swept=hash(system.world)))


def _teardown(net: Net, system: System, index: int) -> Iterator[Step]:
    alternate = system.turn + 1 & 1 if len(system.teardowns) > 1 else 0
    for step in net.teardown_steps(system, index):
        # A round of the sweep that met a fault proves nothing: there will be another.
        swept = None if step.cost else step.to.swept
        yield step._replace(to=step.to._replace(turn=alternate, swept=swept))
    if net.around.faults:
        stop = net.stop_teardown(system, index)
        yield stop._replace(to=stop.to._replace(swept=None))


def is_stop(system: System, step: Step) -> bool:
    """Whether this step is the stop of Train."""
    return system.train is not None and step.to.cut and not system.cut


def outcome(system: System) -> str:
    """How Train ended, what the certificate says, and what is left: what a person would see."""
    world = system.world
    if world.broken or world.train is None:
        return f"BROKEN: {world.broken or 'Train never ends'}"
    told = properties.certificate_of(world)
    verdict = told and f"{told.verdict.training}/{told.verdict.durability}/{told.file_system.fate}"
    left = ", ".join(f"{one.id} {one.lifecycle} {_told_by_tags(one)}" for one in world.file_systems)
    tasks = sum(one.may_write for one in world.trainings)
    steps = sum(s3.is_whole(world.s3, step) for step in range(1, world.saved + 1))
    end = f"{world.train.status} {world.train.error or ''} {world.train.cause or ''}".strip()
    told_someone = ", a person was told" if world.told else ""
    where = left or "no file system"
    return f"{end} | {verdict or 'no certificate'} | {where}, {tasks} tasks, {steps}/{world.saved} in S3{told_someone}"


def _told_by_tags(one: FileSystem) -> str:
    """What it may hold; and of one that is kept why, since when, and for how much a day."""
    kept = [one.tags[key] for key in (tags.KEPT_WHY, tags.KEPT_SINCE, tags.KEPT_USD_A_DAY) if key in one.tags]
    return " ".join([one.tags[tags.STATE], *kept])


def ordinary(net: Net) -> tuple[str, int]:
    """How a run ends that meets no fault, and how many states it passes through, its teardown's with them."""
    net.around.faults = False
    system, passed = net.begin(), 0
    while ahead := next_steps(net, system, stops=False):
        system = ahead[0].to
        # A step is what stands on its first line, and all that follows it silently.
        passed += ahead[0].label.count("\n") + 1
        if passed > MOST_STATES:
            raise GoesRound(ahead[0].label)
    return outcome(system), passed
