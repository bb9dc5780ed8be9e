"""Rules: how a flow calls AWS and our Lambdas. Each check gives the faults as sentences."""

from collections.abc import Iterable, Iterator

from belay.contract.states import TrainState
from stacks.flows.aws_errors import FSX_BAD_REQUEST, FSX_TASK_EXECUTING
from tools.definitions.asl import Json, arrows_of, inner_blocks, retry_seconds, scopes, tasks

# Errors that only need time: another operation of ours is in progress, and ends by itself.
BUSY = {
    "fsx:createDataRepositoryTask": FSX_TASK_EXECUTING,
    "fsx:deleteFileSystem": FSX_BAD_REQUEST,
}
SHORTEST_RETRY_SECONDS = 3600
LONGEST_RETRY_SECONDS = 3 * 3600
LONGEST_CALL_SECONDS = 60
LONGEST_FIND_SECONDS = 1800
CREATED_ONCE = "fsx:createFileSystem"
CREATED_WITH_TAGS = (CREATED_ONCE, "fsx:createDataRepositoryAssociation")


def repeated_answers(definition: Json) -> list[str]:
    """An error with its own Catch is an answer, and is not retried; an error that is not retried has its own Catch."""
    faults = []
    for name, state in tasks(definition).items():
        caught = _named(state.get("Catch", []))
        final = _named(rule for rule in state.get("Retry", []) if rule.get("MaxAttempts") == 0)
        faults += [f"{name}: {error} is an answer, and is retried" for error in sorted(caught - final)]
        faults += [f"{name}: {error} is not retried, and has no Catch of its own" for error in sorted(final - caught)]
    return faults


def short_retries(definition: Json) -> list[str]:
    """When another operation of ours is in progress, the call is retried for at least an hour, and not forever."""
    faults = []
    for name, state in tasks(definition).items():
        busy = next((error for call, error in BUSY.items() if state["Resource"].endswith(call)), None)
        rule = next((one for one in state.get("Retry", []) if busy in one["ErrorEquals"]), {"MaxAttempts": 0})
        given_seconds = retry_seconds(rule)
        if busy and not SHORTEST_RETRY_SECONDS <= given_seconds <= LONGEST_RETRY_SECONDS:
            faults.append(f"{name}: {busy} is retried for {given_seconds:g} s")
    return faults


def calls_without_timeout(definition: Json) -> list[str]:
    """A direct call has a time-out, and training that of the job. Lambdas and called machines have their own."""
    faults = []
    for name, state in tasks(definition).items():
        limit = state.get("TimeoutSeconds")
        if ":aws-sdk:" in state["Resource"] and not (isinstance(limit, int) and limit <= LONGEST_CALL_SECONDS):
            faults.append(f"{name}: waits {limit} s")
        if state["Resource"].endswith("ecs:runTask.sync") and limit != "{% $limits.train %}":
            is_short = name == TrainState.FIND_AN_INSTANCE and isinstance(limit, int) and limit <= LONGEST_FIND_SECONDS
            faults += [] if is_short else [f"{name}: runs for {limit} s"]
    return faults


def calls_without_token(definition: Json) -> list[str]:
    """Without one the SDK makes a new token for each try, and a retry after a lost reply does the work twice."""
    calls = {name: state for name, state in tasks(definition).items() if ":aws-sdk:fsx:" in state["Resource"]}
    return [name for name, state in calls.items() if "ClientRequestToken" not in state["Arguments"]]


def created_without_tags(definition: Json) -> list[str]:
    """The roles may change and remove only what has the deployment's tag."""
    calls = {name: state for name, state in tasks(definition).items() if state["Resource"].endswith(CREATED_WITH_TAGS)}
    return [f"{name}: what it creates has no tags" for name, state in calls.items() if "Tags" not in state["Arguments"]]


def created_again(definition: Json) -> list[str]:
    """A run has one file system at a time: each path back leads over the state that gave the one before back."""
    faults = []
    for scope in scopes(definition):
        given_back = [one for one in scope.arrows() if one.source == TrainState.GIVE_BACK and one.kind == "next"]
        faults += [
            f"{name}: a path leads back here"
            for name, state in scope.states.items()
            if any(name in scope.reachable(arrow.target, without=given_back) for arrow in arrows_of(name, state))
            and any(str(call).endswith(CREATED_ONCE) for call in _resources(state))
        ]
    return faults


def retried_elsewhere(definition: Json) -> list[str]:
    """A retry trains on the file system that it has, or ends the run: on its way there none is given back."""
    faults = []
    for scope in (one for one in scopes(definition) if TrainState.TRY_AGAIN in one.states):
        beyond = [one for one in scope.arrows() if one.source == TrainState.TRAIN]
        retry = scope.states[TrainState.TRY_AGAIN]["Choices"][0]["Next"]
        reached = scope.reachable(retry, without=beyond)
        if TrainState.TRAIN not in reached or TrainState.TRAINING_NEVER_STARTED in reached:
            faults.append(f"{retry}: a retry does not train")
    return faults


def _named(rules: Iterable[Json]) -> set[str]:
    """Errors of services and Lambdas, without those of Step Functions itself."""
    return {error for rule in rules for error in rule["ErrorEquals"] if not error.startswith("States.")}


def _resources(state: Json) -> Iterator[str]:
    yield state.get("Resource", "")
    for block in inner_blocks(state):
        for inner in block["States"].values():
            yield from _resources(inner)
