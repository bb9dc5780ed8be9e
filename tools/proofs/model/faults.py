"""The faults of a call: throttled, refused, timed out, an unexpected error, a lost reply."""

from collections.abc import Iterator
from typing import Any

from belay.contract.errors import FileSystemGone
from stacks.flows.aws_errors import FSX_FILE_SYSTEM_GONE, FSX_LINK_GONE, LAMBDA_AWAY
from tools.definitions.error_names import error_names
from tools.proofs.model import ecs
from tools.proofs.model.aws_state import AwsState
from tools.proofs.model.execution import Answer, Call, Fault


def faults_of(call: Call, before: AwsState, after: AwsState, result: Any) -> Iterator[Answer]:
    """Every fault of this call. `after` and `result`: the state and the answer if the call took effect."""
    throttled, broken, lost = error_names(call.resource)
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
        # All that may be away are retried alike: it is enough to be throttled for long.
        if name in _ONLY_WHEN_TRUE or (name in LAMBDA_AWAY and name != throttled):
            continue
        yield Answer(f"says {name} for long", 1, before, Fault(name, _cause(name), lasts=True))
    if result is not None:
        # A teardown whose start was not confirmed goes on by itself.
        orphan = after._replace(starting=("orphan", after.starting[1])) if after.starting else after
        if call.resource == "ecs:runTask.sync":
            orphan = ecs.unconfirmed(orphan)
        yield Answer("took effect, its reply is lost", 1, orphan, Fault(lost, "Read timed out"))
        if call.resource == "ecs:runTask.sync":
            yield Answer(
                "took effect, and is answered as a failure", 1, orphan, Fault("ECS.ServerException", "try again")
            )


# The model of AWS gives these when they are true. AWS may fail, but it does not invent that something is gone.
_ONLY_WHEN_TRUE = (FSX_FILE_SYSTEM_GONE, FSX_LINK_GONE, FileSystemGone.__name__)


def _cause(name: str) -> str:
    """A Lambda's error has JSON as its cause."""
    return '{"errorMessage": "it says no", "errorType": "' + name + '"}' if "." not in name else "it says no"
