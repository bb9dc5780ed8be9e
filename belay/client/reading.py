"""Reading a run while it goes on: its history, the lines of its trainer, its ledger."""

import json
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, TypeVar

from botocore.exceptions import ClientError
from pydantic import ValidationError

from belay.aws.deployment import Clients
from belay.client.history import Entered, Trouble, child_execution, entered, troubles
from belay.client.progress import Snapshot
from belay.contract.certificate import Certificate
from belay.contract.deployment import Deployment
from belay.contract.events import AnyEvent, parse_event
from belay.contract.ledger import Ledger
from belay.contract.paths import RunPrefix
from belay.contract.plan import RunPlan
from belay.contract.run import run_id

T = TypeVar("T", Entered, Trouble, AnyEvent)

# The status of an execution that Step Functions has deleted, 90 days after its end.
FORGOTTEN = "FORGOTTEN"

# A log line may arrive later than one with a later stamp.
_LATE = timedelta(minutes=1)


class Run:
    """One run, found by its execution. What was read once is not read again."""

    def __init__(
        self, execution_arn: str, *, deployment: Deployment, clients: Clients, plan: RunPlan | None = None
    ) -> None:
        """`plan`: what S3 has of it, if that was looked at. Step Functions forgets an execution after 90 days."""
        self.execution_arn = execution_arn
        self._deployment = deployment
        self._states, self._logs, self._s3 = clients("stepfunctions"), clients("logs"), clients("s3")
        self._histories: dict[str, list[dict[str, Any]]] = {}
        self._lines: dict[str, datetime] = {}
        self._plan = plan
        self._other_teardown: str | None = None
        self.histories: tuple[list[dict[str, Any]], list[dict[str, Any]]] = [], []
        """Of Train and of its teardown, as the last snapshot read them."""

    @cached_property
    def _at_first(self) -> dict[str, Any]:
        """What never changes of an execution: its start and its input."""
        return self.describe()

    @cached_property
    def started_at(self) -> datetime:
        started_at: datetime = self._at_first["startDate"]
        return started_at

    @cached_property
    def prefix(self) -> RunPrefix:
        # The input may be anything: a job that was refused has a prefix too, under which nothing lies.
        job = json.loads(self._at_first["input"])
        name = job.get("name") if isinstance(job, dict) else None
        return RunPrefix(str(name), run_id(self.execution_arn, self.started_at))

    def describe(self) -> dict[str, Any]:
        try:
            described: dict[str, Any] = self._states.describe_execution(executionArn=self.execution_arn)
        except ClientError as error:
            if self._plan is None or error.response["Error"]["Code"] != "ExecutionDoesNotExist":
                raise
            job = self._plan.job.model_dump_json(exclude_unset=True)
            return {"status": FORGOTTEN, "startDate": self._plan.started_at, "input": job}
        return described

    def snapshot(self) -> Snapshot:
        # The status first: when it says that the run is over, everything read after it is complete.
        status = str(self.describe()["status"])
        train = self._history(self.execution_arn) if status != FORGOTTEN else []
        teardown = self._teardown(train, is_over=status != "RUNNING") if train else []
        self.histories = train, teardown
        return Snapshot(
            status=status,
            entered=_by_time([*entered(train), *entered(teardown, teardown=True)]),
            troubles=_by_time([*troubles(train), *troubles(teardown)]),
            events=self._events(),
            ledger=self.ledger(),
        )

    def ledger(self) -> Ledger | None:
        text = self._object(self.prefix.ledger)
        return Ledger.model_validate_json(text) if text else None

    def plan(self) -> RunPlan | None:
        """The job as it was accepted; None as long as it was not."""
        if self._plan is None and (text := self._object(self.prefix.plan)):
            self._plan = RunPlan.model_validate_json(text)
        return self._plan

    def _teardown(self, train: list[dict[str, Any]], *, is_over: bool) -> list[dict[str, Any]]:
        """The history of its teardown, which the rescue, the sweep or a person may have started."""
        started = child_execution(train)
        if started is None and is_over:
            self._other_teardown = self._other_teardown or self._find_teardown()
            started = self._other_teardown
        return self._history(started) if started else []

    def _find_teardown(self) -> str | None:
        pages = self._states.get_paginator("list_executions").paginate(
            stateMachineArn=self._deployment.teardown_machine_arn
        )
        for execution in (execution for page in pages for execution in page["executions"]):
            # The newest first: the living by their start, the others by their end.
            if execution.get("stopDate", execution["startDate"]) < self.started_at:
                return None
            # Another run's, which ended when this one was on its way.
            if execution["startDate"] < self.started_at:
                continue
            described = self._states.describe_execution(executionArn=execution["executionArn"])
            if json.loads(described["input"]).get("execution_arn") == self.execution_arn:
                return str(execution["executionArn"])
        return None

    def certificate(self) -> Certificate | None:
        """None for a run that was never accepted, or is not over."""
        text = self._object(self.prefix.certificate)
        return Certificate.model_validate_json(text) if text else None

    def _history(self, execution_arn: str) -> list[dict[str, Any]]:
        """Newest first until what is known: a long run is not read from its beginning each time."""
        known = self._histories.setdefault(execution_arn, [])
        last_known = known[-1]["id"] if known else 0
        pages = self._states.get_paginator("get_execution_history").paginate(
            executionArn=execution_arn, reverseOrder=True, PaginationConfig={"PageSize": 200}
        )
        new: list[dict[str, Any]] = []
        for event in (event for page in pages for event in page["events"]):
            if event["id"] <= last_known:
                break
            new.append(event)
        known.extend(reversed(new))
        return known

    def _events(self) -> list[AnyEvent]:
        since = max(self._lines.values(), default=self.started_at) - _LATE
        pages = self._logs.get_paginator("filter_log_events").paginate(
            logGroupName=self._deployment.trainer_log_group,
            startTime=int(since.timestamp() * 1000),
            filterPattern=f'{{ $.run = "{self.prefix.run}" }}',
        )
        for line in (line for page in pages for line in page["events"]):
            self._lines[line["message"]] = datetime.fromtimestamp(line["timestamp"] / 1000, self.started_at.tzinfo)
        return _by_time([event for text in self._lines if (event := _event(text))])

    def _object(self, key: str) -> bytes | None:
        try:
            body: bytes = self._s3.get_object(Bucket=self._deployment.bucket, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] == "NoSuchKey":
                return None
            raise
        return body


def follow(run: Run, *, every_seconds: float, sleep: Callable[[float], None] = time.sleep) -> Iterator[Snapshot]:
    """Snapshots until the run is over; the last one is complete."""
    while True:
        snapshot = run.snapshot()
        yield snapshot
        if snapshot.is_over:
            return
        sleep(every_seconds)


def _by_time(things: list[T]) -> list[T]:
    return sorted(things, key=lambda thing: thing.at)


def _event(text: str) -> AnyEvent | None:
    """None for a line that only looks like ours: a job may print JSON of its own."""
    try:
        return parse_event.validate_json(text)
    except ValidationError:
        return None
