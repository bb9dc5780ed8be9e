"""Who answers the flows' calls: the world, and faults around what it says."""

from collections.abc import Callable, Iterator
from typing import Any

from tests.model import ecs, faults, fsx, functions
from tests.model.standing import Answer, Call, Fault, Waiting
from tests.model.values import Frozen, compact, freeze
from tests.model.world import World

CHILD = "child"


class Surroundings:
    """`exact`: time passes in waits, and everything that is under way takes its next step then."""

    def __init__(self, *, exact: bool, most_saves: int, faults: bool = True) -> None:
        self.exact = exact
        self.faults = faults
        self._most_saves = most_saves

    # ---- calls

    def answers(self, call: Call, world: World) -> Iterator[Answer]:
        after, result = self.say(call, world)
        refused = isinstance(result, Fault)
        if not refused:
            yield Answer("", 0, after, result)
        elif self.exact:
            # Whoever asks again does it later.
            for passed in self.time_passes(after):
                yield Answer(
                    f"is refused{'; ' if passed.label else ''}{passed.label}", passed.cost, passed.world, result
                )
        else:
            yield Answer("is refused", 0, after, result)
            yield Answer("is refused to the end", 0, after, result._replace(lasts=True))
        if self.faults:
            yield from faults.around(call, world, after, None if refused else result)

    def say(self, call: Call, world: World) -> tuple[World, Any]:
        """What the world itself answers, without a fault."""
        if call.resource == "lambda:invoke":
            name = call.arguments["FunctionName"].rpartition(":")[2].removeprefix("belay-").replace("-", "_")
            after, answer = functions.ask(name, call.arguments["Payload"], world)
            if isinstance(answer, Fault):
                return after, answer
            return after, Frozen({"StatusCode": 200, "ExecutedVersion": "$LATEST", "Payload": answer})
        if call.resource == "aws-sdk:fsx:createDataRepositoryTask":
            return fsx.export(world, call.arguments, call.execution)
        return _CALLS[call.resource](world, call.arguments)

    # ---- what is waited for

    def ended(self, waiting: str, world: World) -> Iterator[Answer] | None:
        if waiting != CHILD:
            result = ecs.ended(world, waiting)
            return None if result is None else iter([Answer("ended", 0, world, result)])
        if world.child is None:
            return None
        return iter([Answer("ended", 0, world._replace(child=None), _of_child(world))])

    def time_limit(self, waiting: str, world: World) -> Iterator[Answer]:
        for stop in self.stopped(waiting, world):
            yield Answer(f"its time is over{stop.label}", 1 + stop.cost, stop.world, Fault("States.Timeout", ""))

    def stopped(self, waiting: str, world: World) -> Iterator[Answer]:
        """Step Functions tries to stop it. That may fail, and nobody hears of it."""
        if waiting == CHILD:
            yield Answer("", 0, world._replace(starting=("stop", freeze({}))), None)
            yield Answer(", the teardown runs on", 1, world, None)
            return
        found = next(one for one in world.trainings if one.arn == waiting)
        if found.status in ("PROVISIONING", "RUNNING"):
            yield Answer("", 0, ecs.stop_task(world, found, "Task stopped by AWS Step Functions"), None)
            yield Answer(", the task runs on", 1, world, None)
        else:
            yield Answer("", 0, world, None)

    # ---- time

    def time_passes(self, world: World) -> Iterator[Answer]:
        """Everything takes its usual next step; or one thing takes another."""
        if not self.exact:
            yield Answer("", 0, world, None)
            return
        things = self.things(world)
        usual = self._usually(world, things)
        yield Answer("", 0, usual, None)
        if not self.faults:
            return
        for thing in things:
            for other in self.developments(thing, world):
                if other.cost:
                    rest = [one for one in things if one != thing]
                    yield Answer(other.label, other.cost, self._usually(other.world, rest), None)

    def things(self, world: World) -> list[tuple[str, str]]:
        """Everything that may change by itself, in the order in which it does."""
        return [
            *(("export", one.id) for one in world.exports if one.lifecycle not in fsx.ENDED),
            *(("training", one.arn) for one in world.trainings if one.may_write),
            *(("links", one.id) for one in world.file_systems),
            *(("file system", one.id) for one in world.file_systems),
        ]

    def developments(self, thing: tuple[str, str], world: World) -> Iterator[Answer]:
        kind, id = thing
        match kind:
            case "export":
                return fsx.develop_export(world, id)
            case "training":
                return ecs.develop(world, id, most_saves=self._most_saves)
            case "links":
                return fsx.develop_links(world, id)
        return fsx.develop_file_system(world, id)

    def _usually(self, world: World, things: list[tuple[str, str]]) -> World:
        for thing in things:
            first = next(iter(self.developments(thing, world)), None)
            world = first.world if first else world
        return world


def _of_child(world: World) -> Any:
    """The result of `startExecution.sync:2`, or the error that a failed execution makes of it."""
    end = world.child
    assert end is not None
    if end.status == "SUCCEEDED":
        return freeze({"Status": "SUCCEEDED", "Output": end.output})
    told = {"Status": end.status} | ({"Error": end.error, "Cause": end.cause or ""} if end.error else {})
    return Fault("States.TaskFailed", compact(told))


def _start_teardown(world: World, asked: Frozen) -> tuple[World, Any]:
    return world._replace(starting=(CHILD, asked["Input"])), Waiting(CHILD)


def _publish(world: World, asked: Frozen) -> tuple[World, Any]:
    return world._replace(told=True), freeze({"MessageId": "1"})


_CALLS: dict[str, Callable[[World, Frozen], tuple[World, Any]]] = {
    "aws-sdk:fsx:createFileSystem": fsx.create,
    "aws-sdk:fsx:createDataRepositoryAssociation": fsx.link,
    "aws-sdk:fsx:deleteFileSystem": fsx.delete,
    "aws-sdk:ecs:stopTask": ecs.stop,
    "aws-sdk:sns:publish": _publish,
    "ecs:runTask.sync": ecs.run,
    "states:startExecution.sync:2": _start_teardown,
}
