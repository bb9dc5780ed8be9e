"""The next steps of a schedule, in a fixed order.

Schedules differ in their faults and in where Train is stopped. Teardowns that run at the same time take turns; the
search has every order.
"""

from collections.abc import Iterator

from belay.contract import tags
from tools.proofs.model import properties, s3
from tools.proofs.model.aws_state import FileSystem
from tools.proofs.model.interpreter import EndlessLoop
from tools.proofs.model.system import Model, Step, System

# A run without faults passes a fifth of them.
MOST_STATES = 300


def next_steps(model: Model, system: System, *, stops: bool = True) -> list[Step]:
    """Without `stops` Train is not stopped."""
    return list(_next_steps(model, system, stops))


def _next_steps(model: Model, system: System, stops: bool) -> Iterator[Step]:
    child = next((index for index, one in enumerate(system.teardowns) if one.is_child), None)
    if system.train is not None:
        if stops:
            yield from model.stop_train(system, "ABORTED")
        if child is not None and system.train.waiting:
            yield from _teardown(model, system, child)
        else:
            yield from model.train_steps(system)
    elif system.teardowns:
        yield from _teardown(model, system, system.turn % len(system.teardowns))
    elif system.event_pending:
        yield Step("EventBridge starts the rescue", 0, model.rescue(system))
        yield Step("EventBridge starts the rescue twice", 1, model.rescue(model.rescue(system)))
        yield Step("EventBridge loses the event", 1, system._replace(event_pending=False))
    elif system.swept != hash(system.aws):
        swept = model.sweep(system)
        if swept is not None:
            yield Step("the sweep starts a teardown", 0, swept._replace(swept=hash(system.aws)))


def _teardown(model: Model, system: System, index: int) -> Iterator[Step]:
    alternate = system.turn + 1 & 1 if len(system.teardowns) > 1 else 0
    for step in model.teardown_steps(system, index):
        # After a fault the sweep runs again.
        swept = None if step.cost else step.to.swept
        yield step._replace(to=step.to._replace(turn=alternate, swept=swept))
    if model.environment.faults:
        stop = model.stop_teardown(system, index)
        yield stop._replace(to=stop.to._replace(swept=None))


def is_stop(system: System, step: Step) -> bool:
    """Whether this step is the stop of Train."""
    return system.train is not None and step.to.stopped and not system.stopped


def outcome(system: System) -> str:
    """How Train ended, what the certificate says, and what is left."""
    aws = system.aws
    if aws.broken or aws.train is None:
        return f"BROKEN: {aws.broken or 'Train never ends'}"
    certificate = properties.certificate_of(aws)
    verdict = (
        certificate
        and f"{certificate.verdict.training}/{certificate.verdict.durability}/{certificate.file_system.fate}"
    )
    left = ", ".join(f"{one.id} {one.lifecycle} {_tag_values(one)}" for one in aws.file_systems)
    tasks = sum(one.may_write for one in aws.trainings)
    steps = sum(s3.is_whole(aws.s3, step) for step in range(1, aws.saved + 1))
    end = f"{aws.train.status} {aws.train.error or ''} {aws.train.cause or ''}".strip()
    notified = ", a person was notified" if aws.notified else ""
    where = left or "no file system"
    return f"{end} | {verdict} | {where}, {tasks} tasks, {steps}/{aws.saved} in S3{notified}"


def _tag_values(one: FileSystem) -> str:
    """Its state; if it is kept, also the reason, the date and the price a day."""
    kept = [one.tags[key] for key in (tags.KEPT_WHY, tags.KEPT_SINCE, tags.KEPT_USD_A_DAY) if key in one.tags]
    return " ".join([one.tags[tags.STATE], *kept])


def without_faults(model: Model) -> tuple[str, int]:
    """The outcome of a run without faults, and how many states it and its teardown pass."""
    model.environment.faults = False
    system, passed = model.begin(), 0
    while ahead := next_steps(model, system, stops=False):
        system = ahead[0].to
        # The first line of a label is the step, the others are silent states after it.
        passed += ahead[0].label.count("\n") + 1
        if passed > MOST_STATES:
            raise EndlessLoop(ahead[0].label)
    return outcome(system), passed
