"""What Belay itself costs in one successful run: its state transitions and Lambda invocations, counted.

`make bench-cost` runs the example job on the local cloud, where FSx and ECS take (compressed) as long as they usually
do on AWS, so that there are about as many polls. File system, instance and S3 are not included.
"""

from collections.abc import Iterable
from typing import Any

from rich.console import Console

from belay.client.history import child_execution
from belay.client.reading import Run, follow
from tools.console import Unexpected, doing, run_command
from tools.demo.example import TIME_SCALE, Example, deployed_example
from tools.figures import Figure, publish
from tools.repository import REPOSITORY

# us-east-1, the public price pages of Step Functions and Lambda (arm64, the first tier).
_USD_PER_TRANSITION = 0.025 / 1000
_USD_PER_INVOCATION = 0.20 / 1_000_000
_USD_PER_GB_SECOND = 0.0000133334
# The largest function, and longer than any of them took: an upper bound for each invocation.
_GB_SECONDS_AT_MOST = 1.0 * 2.0


def run_cost(console: Console) -> None:
    with deployed_example(console, state_dir=REPOSITORY / "build" / "run_cost") as example:
        run = example.start()
        with doing(console, "Run the example job"):
            for _ in follow(run, every_seconds=1.0):
                pass
        if run.describe()["status"] != "SUCCEEDED":
            raise Unexpected("the run did not succeed, so its cost means nothing")
        publish(console, "run_cost", _figures(example, run))


def _figures(example: Example, run: Run) -> list[Figure]:
    train = _history(example, run.execution_arn)
    teardown = _history(example, child_execution(train) or "")
    transitions = _transitions(train) + _transitions(teardown)
    by_flows = _invocations(train) + _invocations(teardown)
    minutes = _aws_minutes(train)
    by_pump = round(minutes)
    usd = transitions * _USD_PER_TRANSITION + (by_flows + by_pump) * (
        _USD_PER_INVOCATION + _GB_SECONDS_AT_MOST * _USD_PER_GB_SECOND
    )
    return [
        Figure("state transitions, Train", _transitions(train), "count"),
        Figure("state transitions, Teardown", _transitions(teardown), "count"),
        Figure("Lambda invocations by the flows", by_flows, "count"),
        Figure("Lambda invocations by the pump, one a minute", by_pump, "count"),
        Figure("minutes from start to verdict, as on AWS", minutes, "minutes"),
        Figure("cost of both", usd, "USD at most"),
    ]


def _history(example: Example, execution_arn: str) -> list[dict[str, Any]]:
    states = example.deployed.states
    pages = states.get_paginator("get_execution_history").paginate(executionArn=execution_arn)
    return [event for page in pages for event in page["events"]]


def _transitions(events: Iterable[dict[str, Any]]) -> int:
    """Every state entered, and every repetition, which is billed as one more."""
    entered = sum("stateEnteredEventDetails" in event for event in events)
    repeated = sum(event["type"] in ("TaskFailed", "TaskTimedOut") for event in events)
    return entered + repeated


def _invocations(events: Iterable[dict[str, Any]]) -> int:
    scheduled = [event["taskScheduledEventDetails"] for event in events if "taskScheduledEventDetails" in event]
    return sum(one["resourceType"] == "lambda" for one in scheduled)


def _aws_minutes(events: list[dict[str, Any]]) -> float:
    """The waits as long as on AWS, the rest as long as it took here."""
    real = float((events[-1]["timestamp"] - events[0]["timestamp"]).total_seconds())
    waited = sum(_waits(events))
    return (waited + max(real - waited / TIME_SCALE, 0.0)) / 60


def _waits(events: Iterable[dict[str, Any]]) -> Iterable[float]:
    """The AWS seconds of each Wait."""
    entered: dict[str, Any] = {}
    for event in events:
        if event["type"] == "WaitStateEntered":
            entered[event["stateEnteredEventDetails"]["name"]] = event["timestamp"]
        elif event["type"] == "WaitStateExited":
            since = entered.pop(event["stateExitedEventDetails"]["name"])
            yield (event["timestamp"] - since).total_seconds() * TIME_SCALE


if __name__ == "__main__":
    run_command(run_cost, description=__doc__)
