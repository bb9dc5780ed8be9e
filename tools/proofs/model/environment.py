"""The environment of the flows: answers their calls from the state of AWS, with every fault that is possible."""

from collections.abc import Callable, Iterator
from typing import Any

from tools.definitions.handlers import function_name
from tools.proofs.model import ecs, faults, fsx, functions
from tools.proofs.model.aws_state import AwsState
from tools.proofs.model.execution import Answer, Call, Fault, Waiting
from tools.proofs.model.values import Frozen, compact, freeze

CHILD = "child"


class AwsEnvironment:
    """`exact`: time passes in waits, and everything in progress takes its next step then."""

    def __init__(self, *, exact: bool, most_saves: int, faults: bool = True) -> None:
        self.exact = exact
        self.faults = faults
        self._most_saves = most_saves

    # ---- calls

    def answers(self, call: Call, aws: AwsState) -> Iterator[Answer]:
        after, result = self.answer(call, aws)
        refused = isinstance(result, Fault)
        if not refused:
            yield Answer("", 0, after, result)
        elif self.exact:
            # A retry happens later.
            for passed in self.time_passes(after):
                yield Answer(f"is refused{'; ' if passed.label else ''}{passed.label}", passed.cost, passed.aws, result)
        else:
            yield Answer("is refused", 0, after, result)
            yield Answer("is refused to the end", 0, after, result._replace(lasts=True))
        if result == fsx.NO_TAGS:
            yield Answer("FSx says that it is gone", 1, after, fsx.NOT_FOUND)
        if self.faults:
            yield from faults.faults_of(call, aws, after, None if refused else result)

    def answer(self, call: Call, aws: AwsState) -> tuple[AwsState, Any]:
        """The answer of AWS without a fault."""
        if call.resource == "lambda:invoke":
            name = function_name(call.arguments["FunctionName"]).removeprefix("belay-").replace("-", "_")
            after, answer = functions.ask(name, call.arguments["Payload"], aws, self.code_of(call.execution))
            if isinstance(answer, Fault):
                return after, answer
            return after, Frozen({"StatusCode": 200, "ExecutedVersion": "$LATEST", "Payload": answer})
        if call.resource == "aws-sdk:fsx:createDataRepositoryTask":
            return fsx.export(aws, call.arguments, call.execution)
        return _CALLS[call.resource](aws, call.arguments)

    def code_of(self, execution: str) -> functions.Code:
        """The Lambdas that this execution asks."""
        return functions.HERE

    # ---- what is waited for

    def ended(self, waiting: str, aws: AwsState) -> Iterator[Answer] | None:
        if waiting != CHILD:
            result = ecs.ended(aws, waiting)
            return None if result is None else iter([Answer("ended", 0, aws, result)])
        if aws.child is None:
            return None
        return iter([Answer("ended", 0, aws._replace(child=None), _of_child(aws))])

    def time_limit(self, waiting: str, aws: AwsState) -> Iterator[Answer]:
        for stop in self.stopped(waiting, aws):
            yield Answer(f"its time is over{stop.label}", 1 + stop.cost, stop.aws, Fault("States.Timeout", ""))

    def stopped(self, waiting: str, aws: AwsState) -> Iterator[Answer]:
        """Step Functions tries to stop it. If that fails, no one notices."""
        if waiting == CHILD:
            yield Answer("", 0, aws._replace(starting=("stop", freeze({}))), None)
            yield Answer(", the teardown runs on", 1, aws, None)
            return
        found = next(one for one in aws.trainings if one.arn == waiting)
        if found.status in ("PROVISIONING", "RUNNING"):
            yield Answer("", 0, ecs.stop_task(aws, found, "Task stopped by AWS Step Functions"), None)
            yield Answer(", the task runs on", 1, aws, None)
        else:
            yield Answer("", 0, aws, None)

    # ---- time

    def time_passes(self, aws: AwsState) -> Iterator[Answer]:
        """Every resource takes its usual next step; or one of them takes another."""
        if not self.exact:
            yield Answer("", 0, aws, None)
            return
        resources = self.resources(aws)
        usual = self._usually(aws, resources)
        yield Answer("", 0, usual, None)
        if not self.faults:
            return
        for resource in resources:
            for other in self.next_of(resource, aws):
                if other.cost:
                    rest = [one for one in resources if one != resource]
                    yield Answer(other.label, other.cost, self._usually(other.aws, rest), None)

    def resources(self, aws: AwsState) -> list[tuple[str, str]]:
        """Every resource that may change by itself, in the order in which they do."""
        return [
            *(("export", one.id) for one in aws.exports if one.lifecycle not in fsx.ENDED),
            *(("training", one.arn) for one in aws.trainings if one.may_write),
            *(("links", one.id) for one in aws.file_systems),
            *(("file system", one.id) for one in aws.file_systems),
        ]

    def next_of(self, resource: tuple[str, str], aws: AwsState) -> Iterator[Answer]:
        kind, id = resource
        match kind:
            case "export":
                return fsx.next_of_export(aws, id)
            case "training":
                return ecs.next_of(aws, id, most_saves=self._most_saves)
            case "links":
                return fsx.next_of_links(aws, id)
        return fsx.next_of_file_system(aws, id)

    def _usually(self, aws: AwsState, resources: list[tuple[str, str]]) -> AwsState:
        for resource in resources:
            first = next(iter(self.next_of(resource, aws)), None)
            aws = first.aws if first else aws
        return aws


def _of_child(aws: AwsState) -> Any:
    """The result of `startExecution.sync:2`, or the error that a failed execution makes of it."""
    end = aws.child
    assert end is not None
    if end.status == "SUCCEEDED":
        return freeze({"Status": "SUCCEEDED", "Output": end.output})
    output = {"Status": end.status} | ({"Error": end.error, "Cause": end.cause or ""} if end.error else {})
    return Fault("States.TaskFailed", compact(output))


def _start_teardown(aws: AwsState, asked: Frozen) -> tuple[AwsState, Any]:
    return aws._replace(starting=(CHILD, asked["Input"])), Waiting(CHILD)


def _publish(aws: AwsState, asked: Frozen) -> tuple[AwsState, Any]:
    return aws._replace(notified=True), freeze({"MessageId": "1"})


_CALLS: dict[str, Callable[[AwsState, Frozen], tuple[AwsState, Any]]] = {
    "aws-sdk:fsx:createFileSystem": fsx.create,
    "aws-sdk:fsx:createDataRepositoryAssociation": fsx.link,
    "aws-sdk:fsx:deleteDataRepositoryAssociation": fsx.unlink,
    "aws-sdk:fsx:deleteFileSystem": fsx.delete,
    "aws-sdk:ecs:stopTask": ecs.stop,
    "aws-sdk:sns:publish": _publish,
    "ecs:runTask.sync": ecs.run,
    "states:startExecution.sync:2": _start_teardown,
}
