"""ECS, as far as the flows use it: a training task starts, saves, ends or is stopped, each in every way we know."""

from collections.abc import Iterator

from tests.model import s3
from tests.model.standing import Answer, Fault, Waiting
from tests.model.values import Frozen, compact, freeze
from tests.model.world import Training, World

_CLUSTER = f"arn:aws:ecs:us-east-1:{s3.ACCOUNT}:task/belay"
_LOST = "Host EC2 (instance i-1) terminated."


def run(world: World, asked: Frozen) -> tuple[World, object]:
    variables = asked["Overrides"]["ContainerOverrides"][0]["Environment"]
    told = {one["Name"]: one["Value"] for one in variables}
    # ECS forgets a task soon after it has stopped.
    alive = tuple(one for one in world.trainings if one.may_write)
    arn = f"{_CLUSTER}/{len(alive) + 1}"
    id = told["BELAY_SCRATCH_DNS"].partition(".")[0]
    if any(one.file_system == id for one in alive):
        world = world.breaks("two training tasks write on one file system")
    new = Training(arn, int(told["BELAY_ATTEMPT"]), id, "PROVISIONING")
    return world._replace(trainings=(*alive, new)), Waiting(arn)


def ended(world: World, arn: str) -> object | None:
    """What `.sync` makes of a task that has stopped; None while it lives."""
    found = _task(world, arn)
    if found is None or found.status != "STOPPED":
        return None
    told = {
        "TaskArn": arn,
        "LastStatus": "STOPPED",
        "StopCode": found.code,
        "StoppedReason": found.reason,
        "Containers": [{"Name": "trainer"} | ({} if found.exit is None else {"ExitCode": found.exit})],
    }
    return freeze(told) if found.exit == 0 else Fault("States.TaskFailed", compact(told))


def stop(world: World, asked: Frozen) -> tuple[World, object]:
    found = _task(world, asked["Task"])
    if found is None:
        return world, Fault("Ecs.InvalidParameterException", "The referenced task was not found")
    return stop_task(world, found, asked.get("Reason", "")), freeze({"Task": {"TaskArn": found.arn}})


def stop_task(world: World, found: Training, reason: str) -> World:
    after = {"PROVISIONING": "STOPPED", "RUNNING": "STOPPING"}.get(found.status)
    if after is None:
        return world
    return world.with_training(found._replace(status=after, code="UserInitiated", reason=reason))


def develop(world: World, arn: str, *, most_saves: int) -> Iterator[Answer]:
    found = _task(world, arn)
    if found is None:
        return
    match found.status:
        case "PROVISIONING":
            running = world.with_training(found._replace(status="RUNNING"))
            yield Answer("training begins", 0, _say(running, found, s3.started(found.attempt)), None)
            yield Answer("no instance yet", 1, world, None)
            yield Answer(
                "the task cannot start", 1, _stopped(world, found, "TaskFailedToStart", "CannotPull", None), None
            )
        case "RUNNING":
            yield from _while_training(world, found, most_saves)
        case "STOPPING":
            yield Answer("training stops", 0, _stopped(world, found, found.code, found.reason, 143), None)
            yield Answer("training still stops", 1, world, None)
            if _can_save(world, found, most_saves):
                yield Answer("training saves once more", 1, _save(world, found), None)


def _while_training(world: World, found: Training, most_saves: int) -> Iterator[Answer]:
    exited = "EssentialContainerExited"
    done = _stopped(_say(world, found, s3.finished()), found, exited, "", 0)._replace(finished=True)
    if _can_save(world, found, most_saves):
        yield Answer("a checkpoint is saved", 0, _save(world, found), None)
        yield Answer("a checkpoint is saved, its log line is lost", 1, _save(world, found, heard=False), None)
        yield Answer("training completes early", 1, done, None)
    else:
        yield Answer("training completes", 0, done, None)
    crashed = _say(world, found, s3.failed())
    yield Answer("training crashes", 1, _stopped(crashed, found, exited, "", 1), None)
    yield Answer("training is killed", 1, _stopped(world, found, exited, "", 137), None)
    yield Answer("the instance is lost", 1, _stopped(world, found, "TerminationNotice", _LOST, None), None)
    yield Answer("training hangs", 1, world, None)


def _can_save(world: World, found: Training, most_saves: int) -> bool:
    mount = world.file_system(found.file_system)
    return mount is not None and mount.lifecycle == "AVAILABLE" and mount.saved < most_saves


def _save(world: World, found: Training, *, heard: bool = True) -> World:
    """First the checkpoint is whole on the mount, then both the mount's record and the log say so."""
    mount = world.file_system(found.file_system)
    assert mount is not None
    step = mount.saved + 1
    world = world.with_file_system(mount._replace(saved=step))._replace(saved=max(step, world.saved))
    return _say(world, found, s3.saved(step), heard=heard)


def _say(world: World, found: Training, line: str, *, heard: bool = True) -> World:
    mount = world.file_system(found.file_system)
    if mount is not None and line not in mount.events:
        world = world.with_file_system(mount._replace(events=(*mount.events, line)))
    return world._replace(log=(*world.log, line)) if heard and line not in world.log else world


def _stopped(world: World, found: Training, code: str, reason: str, exit: int | None) -> World:
    return world.with_training(found._replace(status="STOPPED", code=code, reason=reason, exit=exit))


def _task(world: World, arn: str) -> Training | None:
    return next((one for one in world.trainings if one.arn == arn), None)
