import json
from typing import Any

from botocore.exceptions import ClientError

from belay.client.reading import Run, follow
from belay.contract.ledger import Ledger
from tests.unit.client.samples import DEPLOYED, RUN, START, at, proven, saved

ARN = "arn:aws:states:us-east-1:123456789012:execution:belay-train:one"


class Aws:
    """What Step Functions, CloudWatch Logs and S3 answer, and what they were asked."""

    def __init__(self) -> None:
        self.statuses = ["RUNNING"]
        self.histories: dict[str, list[dict[str, Any]]] = {ARN: []}
        self.lines: list[dict[str, Any]] = []
        self.objects: dict[str, bytes] = {}
        self.teardowns: list[dict[str, Any]] = []
        self.pages_read = 0

    def __call__(self, service: str) -> "Aws":
        return self

    def describe_execution(self, *, executionArn: str) -> dict[str, Any]:
        status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        document = {"name": "digits"} if executionArn == ARN else {"execution_arn": ARN}
        return {"status": status, "startDate": START, "input": json.dumps(document)}

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey"}}, "GetObject")
        return {"Body": _Body(self.objects[Key])}

    def get_paginator(self, operation: str) -> "_Pages":
        return _Pages(self, operation)

    def enter(self, name: str, *, seconds: float, arn: str = ARN) -> None:
        self.add(arn, {"type": "TaskStateEntered", "stateEnteredEventDetails": {"name": name}}, seconds)

    def add(self, arn: str, event: dict[str, Any], seconds: float) -> None:
        history = self.histories.setdefault(arn, [])
        history.append({"id": len(history) + 1, "timestamp": at(seconds), **event})

    def log(self, line: str, *, seconds: float) -> None:
        self.lines.append({"message": line, "timestamp": int(at(seconds).timestamp() * 1000)})


class _Body:
    def __init__(self, data: bytes) -> None:
        self.read = lambda: data


class _Pages:
    def __init__(self, aws: Aws, operation: str) -> None:
        self._aws, self._operation = aws, operation

    def paginate(self, **asked: Any) -> Any:
        if self._operation == "filter_log_events":
            yield {"events": [line for line in self._aws.lines if line["timestamp"] >= asked["startTime"]]}
            return
        if self._operation == "list_executions":
            yield {"executions": self._aws.teardowns}
            return
        newest_first = self._aws.histories[asked["executionArn"]][::-1]
        size = 10
        for start in range(0, len(newest_first), size):
            self._aws.pages_read += 1
            yield {"events": newest_first[start : start + size]}


def run_of(aws: Aws) -> Run:
    return Run(ARN, deployment=DEPLOYED, clients=aws)


def test_a_look_puts_train_teardown_log_and_ledger_together() -> None:
    aws = Aws()
    run = run_of(aws)
    aws.enter("Train", seconds=1)
    submitted = {"resourceType": "states", "output": json.dumps({"ExecutionArn": "arn:teardown"})}
    aws.enter("Teardown", seconds=8)
    aws.add(ARN, {"type": "TaskSubmitted", "taskSubmittedEventDetails": submitted}, 8)
    aws.enter("Verify", seconds=9, arn="arn:teardown")
    aws.log(saved(20, seconds=5).line(), seconds=5)
    aws.objects[run.prefix.ledger] = Ledger(run=RUN, entries=[proven(20, seconds=9)]).model_dump_json().encode()

    snapshot = run.snapshot()

    assert [(one.state, one.teardown) for one in snapshot.entered] == [
        ("Train", False),
        ("Teardown", False),
        ("Verify", True),
    ]
    assert [event.kind for event in snapshot.events] == ["saved"]
    assert snapshot.ledger is not None and snapshot.ledger.last_verified_step == 20


def test_a_teardown_is_found_behind_one_that_began_before_the_run_and_ended_after_it() -> None:
    """Step Functions lists executions by their end, once they have one."""
    aws = Aws()
    aws.statuses = ["ABORTED"]
    aws.teardowns = [
        {"executionArn": "arn:anothers", "startDate": at(-60), "stopDate": at(30)},
        {"executionArn": "arn:rescued", "startDate": at(9), "stopDate": at(20)},
        {"executionArn": "arn:too-old", "startDate": at(-90), "stopDate": at(-80)},
    ]
    aws.enter("Train", seconds=1)
    aws.enter("Verify", seconds=9, arn="arn:rescued")
    assert [(one.state, one.teardown) for one in run_of(aws).snapshot().entered] == [("Train", False), ("Verify", True)]


def test_a_teardown_that_the_rescue_started_is_part_of_the_run() -> None:
    aws = Aws()
    aws.statuses = ["ABORTED"]
    aws.teardowns = [{"executionArn": "arn:rescued", "startDate": at(9)}]
    aws.enter("Train", seconds=1)
    aws.enter("Verify", seconds=10, arn="arn:rescued")

    assert [(one.state, one.teardown) for one in run_of(aws).snapshot().entered] == [("Train", False), ("Verify", True)]


def test_a_long_history_is_read_once_and_then_only_what_is_new() -> None:
    aws = Aws()
    for number in range(95):
        aws.enter(f"state {number}", seconds=number)
    run = run_of(aws)
    run.snapshot()
    aws.pages_read = 0
    aws.enter("the last", seconds=100)

    snapshot = run.snapshot()

    assert aws.pages_read == 1
    assert [one.state for one in snapshot.entered] == [*(f"state {number}" for number in range(95)), "the last"]


def test_a_line_that_comes_late_takes_its_place_and_none_is_shown_twice() -> None:
    aws = Aws()
    run = run_of(aws)
    aws.log(saved(40, seconds=90).line(), seconds=90)
    run.snapshot()
    aws.log(saved(20, seconds=50).line(), seconds=50)

    assert [event.at for event in run.snapshot().events] == [at(50), at(90)]


def test_lines_that_only_look_like_events_are_passed_over() -> None:
    aws = Aws()
    aws.log(json.dumps({"run": RUN, "kind": "saved"}), seconds=1)
    aws.log("Epoch 3/12", seconds=2)

    assert run_of(aws).snapshot().events == []


def test_a_run_without_a_certificate_yet_has_none() -> None:
    assert run_of(Aws()).certificate() is None


def test_following_ends_with_a_look_that_saw_the_end() -> None:
    aws = Aws()
    run = run_of(aws)
    assert run.started_at == START
    aws.statuses = ["RUNNING", "RUNNING", "SUCCEEDED"]
    waited: list[float] = []

    looks = list(follow(run, every_seconds=5, sleep=waited.append))

    assert [snapshot.status for snapshot in looks] == ["RUNNING", "RUNNING", "SUCCEEDED"]
    assert waited == [5, 5]
