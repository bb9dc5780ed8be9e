"""The IAM checks of ECS task operations, from the Service Authorization Reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tools.local_cloud.platform.authorization import Check, Request, request_tags
from tools.local_cloud.services.ecs.placement import Registry
from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.settings import ACCOUNT, REGION

ARN = f"arn:aws:ecs:{REGION}:{ACCOUNT}"


def ecs_checks(registry: Registry) -> Callable[[str, Request], list[Check]]:
    """RunTask is checked for the task definition, and for the roles that it passes to the task."""

    def checks(action: str, request: Request) -> list[Check]:
        cluster = str(request.get("cluster", "default")).rpartition("/")[2]
        context = {"ecs:cluster": f"{ARN}:cluster/{cluster}"}
        name = f"ecs:{action}"
        match action:
            case "RunTask":
                return _run_task(request, cluster, context, registry)
            case "StopTask":
                return [Check(name, _task_arn(str(request.get("task", "*")), cluster), context)]
            case "DescribeTasks":
                return [Check(name, _task_arn(one, cluster), context) for one in request.get("tasks") or ["*"]]
            case "ListContainerInstances":
                return [Check(name, f"{ARN}:cluster/{cluster}")]
            case "ListTasks":
                return [Check(name, f"{ARN}:container-instance/{cluster}/*", context)]
            case "TagResource" | "UntagResource" | "ListTagsForResource":
                return [Check(name, str(request.get("resourceArn")))]
            case "DescribeClusters":
                return [Check(name, f"{ARN}:cluster/{one.rpartition('/')[2]}") for one in request["clusters"]]
            case _:
                return [Check(name, "*")]

    return checks


def _run_task(request: Request, cluster: str, context: dict[str, Any], registry: Registry) -> list[Check]:
    asked = str(request.get("taskDefinition", ""))
    try:
        definition = registry.task_definition(asked)
    except AwsError:
        return [Check("ecs:RunTask", f"{ARN}:task-definition/{asked.rpartition('/')[2]}", context)]
    tags = request_tags(request.get("tags") or [])
    checks = [Check("ecs:RunTask", definition["taskDefinitionArn"], {**context, **tags})]
    for role in ("taskRoleArn", "executionRoleArn"):
        if definition.get(role):
            checks.append(Check("iam:PassRole", definition[role], {"iam:PassedToService": "ecs-tasks.amazonaws.com"}))
    if tags:
        checks.append(Check("ecs:TagResource", f"{ARN}:task/{cluster}/*", {"ecs:CreateAction": "RunTask", **tags}))
    return checks


def _task_arn(reference: str, cluster: str) -> str:
    return reference if reference.startswith("arn:") else f"{ARN}:task/{cluster}/{reference}"
