"""ECS, which runs the training tasks: a run's tasks are known by what RunTask put into their environment."""

from typing import Any

from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.contract.task import ATTEMPT, NODE, RUN
from belay.policy import ecs_words
from belay.policy.training_tasks import TrainingTask

_MOST_IN_ONE_CALL = 100


class Settings(Environment):
    cluster: str
    trainer_family: str = ""
    """Only what looks for a run's tasks is given it."""


class Ecs:
    def __init__(self, ecs: Any, *, cluster: str, family: str) -> None:
        self._ecs = ecs
        self._cluster = cluster
        self._family = family

    @classmethod
    def from_environment(cls) -> "Ecs":
        settings = Settings.read()
        return cls(client("ecs"), cluster=settings.cluster, family=settings.trainer_family)

    def tasks_of(self, run: str, *, attempt: int | None = None) -> list[TrainingTask]:
        """Stopped ones included, as long as ECS lists them.

        A task that was asked to stop is listed under desiredStatus STOPPED at once, while for two more minutes it may
        be saving: so both lists are read, and only ECS's own word says that it has stopped.
        """
        wanted = {RUN: run} | ({} if attempt is None else {ATTEMPT: str(attempt)})
        described = self._described([*self._list(desiredStatus="RUNNING"), *self._list(desiredStatus="STOPPED")])
        return [
            TrainingTask(
                id=raw["taskArn"],
                node=_number(variables, NODE),
                attempt=_number(variables, ATTEMPT),
                reading=ecs_words.reading_of(raw["lastStatus"]),
            )
            for raw in described
            if wanted.items() <= (variables := _environment(raw)).items()
        ]

    def tasks_on(self, instance: str) -> list[str]:
        found = self._ecs.list_container_instances(cluster=self._cluster, filter=f"ec2InstanceId == {instance}")
        return [
            arn
            for container_instance in found["containerInstanceArns"]
            for page in self._pages(containerInstance=container_instance)
            for arn in page["taskArns"]
        ]

    def stop(self, task: str, *, reason: str) -> None:
        self._ecs.stop_task(cluster=self._cluster, task=task, reason=reason)

    def tag(self, task: str, key: str, value: str) -> None:
        self._ecs.tag_resource(resourceArn=task, tags=[{"key": key, "value": value}])

    def untag(self, task: str, key: str) -> None:
        self._ecs.untag_resource(resourceArn=task, tagKeys=[key])

    def registered_mib(self, run: str) -> int | None:
        described = self._described(self._list(desiredStatus="RUNNING"))
        own = [raw for raw in described if _environment(raw).get(RUN) == run]
        hosts = [raw["containerInstanceArn"] for raw in own if raw.get("containerInstanceArn")]
        if not hosts:
            return None
        [found, *_] = self._ecs.describe_container_instances(cluster=self._cluster, containerInstances=hosts)[
            "containerInstances"
        ]
        registered = {each["name"]: each.get("integerValue") for each in found["registeredResources"]}
        return int(registered["MEMORY"])

    def _list(self, **asked: Any) -> list[str]:
        return [arn for page in self._pages(family=self._family, **asked) for arn in page["taskArns"]]

    def _pages(self, **asked: Any) -> Any:
        return self._ecs.get_paginator("list_tasks").paginate(cluster=self._cluster, **asked)

    def _described(self, arns: list[str]) -> list[dict[str, Any]]:
        arns = sorted(set(arns))
        tasks: list[dict[str, Any]] = []
        for start in range(0, len(arns), _MOST_IN_ONE_CALL):
            asked = arns[start : start + _MOST_IN_ONE_CALL]
            tasks += self._ecs.describe_tasks(cluster=self._cluster, tasks=asked)["tasks"]
        return tasks


def _number(variables: dict[str, str], name: str) -> int:
    """A task that a person started by hand may have none, and must be found all the same."""
    return int(text) if (text := variables.get(name, "")).isdecimal() else 0


def _environment(task: dict[str, Any]) -> dict[str, str]:
    overrides = task.get("overrides", {}).get("containerOverrides", [])
    return {
        variable["name"]: variable["value"] for override in overrides for variable in override.get("environment", [])
    }
