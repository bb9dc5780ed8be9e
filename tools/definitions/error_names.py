"""The errors that any call may end with, as Step Functions names them for each integration."""

from typing import NamedTuple

from belay.policy.ecs_words import RUN_TASK_THROTTLED

# "Integrating services" of the Step Functions guide; the class of the SDK for what an API does not name.
_PREFIX = {"fsx": "FSx", "ecs": "Ecs", "sns": "Sns"}


class ErrorNames(NamedTuple):
    throttled: str
    broken: str
    lost: str
    """The call may have had its effect; its reply did not arrive."""


def error_names(resource: str) -> ErrorNames:
    """Of `fsx:deleteFileSystem` in a state's Resource, with or without the ARN around it."""
    if resource.endswith("lambda:invoke"):
        # A function that ran out of time or memory has no error of its own [G, connect-lambda]; nor has it a reply.
        return ErrorNames("Lambda.TooManyRequestsException", "Lambda.Unknown", "Lambda.Unknown")
    if resource.endswith("ecs:runTask.sync"):
        return ErrorNames(RUN_TASK_THROTTLED, "ECS.ServerException", "ECS.SdkClientException")
    if "states:startExecution" in resource:
        unnamed = "StepFunctions.AWSStepFunctionsException"
        return ErrorNames(unnamed, unnamed, "StepFunctions.SdkClientException")
    prefix = _PREFIX[resource.split(":")[-2]]
    return ErrorNames(f"{prefix}.{prefix}Exception", f"{prefix}.{prefix}Exception", f"{prefix}.SdkClientException")
