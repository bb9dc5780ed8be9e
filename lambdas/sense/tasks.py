"""ECS: a run's training tasks, known by the run that their environment names."""

from dataclasses import dataclass
from typing import Any

from lambdas.sense import phases
from lambdas.sense.phases import Phase, Reading

_MOST_IN_ONE_CALL = 100


@dataclass(frozen=True)
class TrainerTask:
    arn: str
    reading: Reading

    @property
    def may_write(self) -> bool:
        return self.reading.phase is not Phase.GONE


def alive(ecs: Any, *, cluster: str, family: str, run: str) -> list[TrainerTask]:
    """The tasks of the run that may still write."""
    return [task for task in known(ecs, cluster=cluster, family=family, run=run) if task.may_write]


def known(ecs: Any, *, cluster: str, family: str, run: str, attempt: int | None = None) -> list[TrainerTask]:
    """The tasks of the run, or of one attempt at it, that ECS lists, stopped ones included.

    A task that was told to stop is listed under desiredStatus STOPPED at once, while for two more minutes it may be
    saving: so both lists are read, and only ECS's own word says that it has stopped.
    """
    wanted = {"BELAY_RUN": run} | ({} if attempt is None else {"BELAY_ATTEMPT": str(attempt)})
    pages = [
        page["taskArns"]
        for desired in ("RUNNING", "STOPPED")
        for page in ecs.get_paginator("list_tasks").paginate(cluster=cluster, family=family, desiredStatus=desired)
    ]
    arns = sorted({arn for page in pages for arn in page})
    tasks: list[TrainerTask] = []
    for start in range(0, len(arns), _MOST_IN_ONE_CALL):
        answer = ecs.describe_tasks(cluster=cluster, tasks=arns[start : start + _MOST_IN_ONE_CALL])
        own = [raw for raw in answer["tasks"] if wanted.items() <= _environment(raw).items()]
        tasks += [TrainerTask(raw["taskArn"], phases.of_task(raw["lastStatus"])) for raw in own]
    return tasks


def _environment(task: dict[str, Any]) -> dict[str, str]:
    """What RunTask put into the containers' environment."""
    overrides = task.get("overrides", {}).get("containerOverrides", [])
    return {
        variable["name"]: variable["value"] for override in overrides for variable in override.get("environment", [])
    }
