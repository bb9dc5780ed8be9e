"""What can go wrong with any call: refused, throttled, out of time, an error nobody foresaw, a reply that is lost."""

from collections.abc import Iterator
from typing import Any

from tests.model.standing import Answer, Call, Fault
from tests.model.world import World


def around(call: Call, before: World, after: World, result: Any) -> Iterator[Answer]:
    """Every fault of this call. `after` is the world if the call took effect, `result` its answer if it did."""
    throttled, broken, lost = _names(call.resource)
    yield Answer("is throttled", 1, before, Fault(throttled, "Rate exceeded"))
    yield Answer("is throttled for long", 1, before, Fault(throttled, "Rate exceeded", lasts=True))
    yield Answer("fails unexpectedly for long", 1, before, Fault(broken, "it does not work", lasts=True))
    if call.timed or not call.resource.startswith("aws-sdk:"):
        yield Answer("gets no answer in time for long", 1, before, Fault("States.Timeout", None, lasts=True))
    else:
        yield Answer(
            "gets no answer", 1, before.breaks("a call waits for ever"), Fault("States.Timeout", None, lasts=True)
        )
    yield Answer("says too much", 1, after, Fault("States.DataLimitExceeded", "too large", lasts=True))
    for name in call.declared:
        if name in _TRUE:
            continue
        yield Answer(f"says {name} for long", 1, before, Fault(name, _cause(name), lasts=True))
    if result is not None:
        # A teardown of whose start nobody heard goes on by itself.
        orphan = after._replace(starting=("orphan", after.starting[1])) if after.starting else after
        yield Answer("took effect, its reply is lost", 1, orphan, Fault(lost, "Read timed out"))
        if call.resource == "ecs:runTask.sync":
            yield Answer(
                "took effect, and is answered as a failure", 1, orphan, Fault("ECS.ServerException", "try again")
            )


# These the world says by itself, when they are true. AWS may fail; it does not make up that something is gone.
_TRUE = ("FSx.FileSystemNotFoundException", "FileSystemGone")


def _names(resource: str) -> tuple[str, str, str]:
    """As Step Functions names throttling, trouble on the other side, and a lost reply."""
    if resource == "lambda:invoke":
        return "Lambda.TooManyRequestsException", "Lambda.ServiceException", "Lambda.SdkClientException"
    service = resource.split(":")[1] if resource.startswith("aws-sdk:") else resource.split(":")[0]
    prefix = {"fsx": "FSx", "ecs": "Ecs", "sns": "Sns", "states": "StepFunctions"}[service]
    if resource.startswith("ecs:"):
        prefix = "ECS"
    return f"{prefix}.ThrottlingException", f"{prefix}.{prefix}Exception", f"{prefix}.SdkClientException"


def _cause(name: str) -> str:
    """A Lambda's error comes as JSON."""
    return '{"errorMessage": "it says no", "errorType": "' + name + '"}' if "." not in name else "it says no"
