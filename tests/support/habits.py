"""How a flow calls AWS and our Lambdas. Each check answers with the faults it found, as sentences."""

from collections.abc import Iterable, Iterator

from tests.support.asl import Json, arrows_of, inner_blocks, patience_seconds, scopes, tasks

# Errors that only ask for time: something else of ours is under way, which ends by itself.
BUSY = {
    "fsx:createDataRepositoryTask": "FSx.DataRepositoryTaskExecutingException",
    "fsx:deleteFileSystem": "FSx.BadRequestException",
}
SHORTEST_PATIENCE_SECONDS = 3600
LONGEST_PATIENCE_SECONDS = 3 * 3600
LONGEST_CALL_SECONDS = 60
MADE_ONCE = ("fsx:createFileSystem", "fsx:createDataRepositoryAssociation")


def repeated_answers(definition: Json) -> list[str]:
    """An error that has its own way on is an answer, and says the same when asked again; what is not repeated because
    it says something has its own way on."""
    faults = []
    for name, state in tasks(definition).items():
        caught = _named(state.get("Catch", []))
        final = _named(rule for rule in state.get("Retry", []) if rule.get("MaxAttempts") == 0)
        faults += [f"{name}: {error} is an answer, and is repeated" for error in sorted(caught - final)]
        faults += [f"{name}: {error} is not repeated, and has no way of its own" for error in sorted(final - caught)]
    return faults


def impatient_calls(definition: Json) -> list[str]:
    """Who is told that something of ours is under way waits for it, an hour at least, and not for ever."""
    faults = []
    for name, state in tasks(definition).items():
        busy = next((error for call, error in BUSY.items() if state["Resource"].endswith(call)), None)
        rule = next((one for one in state.get("Retry", []) if busy in one["ErrorEquals"]), {"MaxAttempts": 0})
        given_seconds = patience_seconds(rule)
        if busy and not SHORTEST_PATIENCE_SECONDS <= given_seconds <= LONGEST_PATIENCE_SECONDS:
            faults.append(f"{name}: {busy} is given {given_seconds:g} s")
    return faults


def calls_without_end(definition: Json) -> list[str]:
    """A direct call has an end of its own, and training the job's. Lambdas and the machines that are called have theirs
    in their own settings."""
    faults = []
    for name, state in tasks(definition).items():
        limit = state.get("TimeoutSeconds")
        if ":aws-sdk:" in state["Resource"] and not (isinstance(limit, int) and limit <= LONGEST_CALL_SECONDS):
            faults.append(f"{name}: waits {limit} s")
        if state["Resource"].endswith("ecs:runTask.sync") and limit != "{% $limits.train %}":
            faults.append(f"{name}: runs for {limit} s")
    return faults


def calls_without_token(definition: Json) -> list[str]:
    """Without one the SDK makes one up, and a call repeated after a lost answer does its work twice."""
    calls = {name: state for name, state in tasks(definition).items() if ":aws-sdk:fsx:" in state["Resource"]}
    return [name for name, state in calls.items() if "ClientRequestToken" not in state["Arguments"]]


def made_again(definition: Json) -> list[str]:
    """A file system is made once, and linked once: no way leads back there, whatever is tried again."""
    return [
        f"{name}: a way leads back here"
        for scope in scopes(definition)
        for name, state in scope.states.items()
        if any(name in scope.reachable(arrow.target) for arrow in arrows_of(name, state))
        and any(str(call).endswith(MADE_ONCE) for call in _resources(state))
    ]


def _named(rules: Iterable[Json]) -> set[str]:
    """The errors that have a name of their own; those of Step Functions itself are kinds."""
    return {error for rule in rules for error in rule["ErrorEquals"] if not error.startswith("States.")}


def _resources(state: Json) -> Iterator[str]:
    yield state.get("Resource", "")
    for block in inner_blocks(state):
        for inner in block["States"].values():
            yield from _resources(inner)
