"""Rules for every state machine, and for the proofs before a deletion. Each check gives the faults as sentences."""

from collections.abc import Iterator
from typing import Any

from belay.contract.states import TeardownState
from belay.contract.tags import State
from belay.policy.ecs_words import RUN_TASK_TRANSIENT
from stacks.flows.aws_errors import START_EXECUTION_TRANSIENT
from tools.definitions.asl import Arrow, Json, Scope, is_expression, scopes, states, tasks
from tools.definitions.expressions import conjuncts, constant, is_increment, variable_kept_below
from tools.definitions.handlers import function_name

DELETES = "arn:aws:states:::aws-sdk:fsx:deleteFileSystem"
# The two conditions that are a proof; they may contain nothing else.
PROOFS = {
    (TeardownState.ALL_IN_S3, "$verification.whole"),
    (TeardownState.HOLDS_WORK, f"$found.file_system.state = '{State.EMPTY}'"),
}
SHORTEST_WAIT_SECONDS = 10
_OF_A_START = {"ecs:runTask.sync": RUN_TASK_TRANSIENT, "states:startExecution.sync:2": START_EXECUTION_TRANSIENT}


def unproven_deletions(definition: Json) -> list[str]:
    """Without the arrows of both proofs, no deletion may be reachable."""
    outer, *inner = scopes(definition)
    proven = {arrow for arrow in outer.arrows() if (arrow.source, arrow.condition) in PROOFS}
    still = outer.reachable(outer.start, without=proven)
    hidden = [name for scope in inner for name, state in scope.states.items() if state.get("Resource") == DELETES]
    return [
        f"{name}: can be reached without a proof"
        for name in [*sorted(still), *hidden]
        if name in hidden or outer.states.get(name, {}).get("Resource") == DELETES
    ]


def answers_from_elsewhere(definition: Json, *, variable: str, function: str) -> list[str]:
    """Only the answer of this Lambda, or null, may be assigned to `variable`."""
    faults = []
    for name, state in states(definition).items():
        for rule in [state, *state.get("Catch", []), *state.get("Choices", [])]:
            if variable not in rule.get("Assign", {}) or rule["Assign"][variable] == "{% null %}":
                continue
            invoked = function_name(str(state.get("Arguments", {}).get("FunctionName", ""))) if rule is state else ""
            whole = rule["Assign"][variable] == "{% $states.result.Payload %}"
            if not (invoked.endswith(f"-{function}") and whole):
                faults.append(f"{name}: assigns ${variable}")
    return faults


def tasks_without_catch(definition: Json) -> list[str]:
    """An error counts as caught if the task or a state around it catches States.ALL."""
    return [
        name
        for scope in scopes(definition)
        for name, state in scope.states.items()
        if state["Type"] == "Task" and not any(_catches_all(holder) for holder in (state, *_holders(definition, scope)))
    ]


def tasks_without_retry(definition: Json) -> list[str]:
    """The last Retry is for all errors, with back-off, jitter and a limit.

    Of a job that is waited for: for all errors of its start. What failed after it had started is not started again.
    """
    return [name for name, state in tasks(definition).items() if not _has_full_retry(state)]


def lost_states(definition: Json) -> list[str]:
    """States that are named but do not exist, or exist but are never entered."""
    faults = []
    for scope in scopes(definition):
        entered = scope.reachable(scope.start)
        faults += [f"{name}: does not exist" for name in sorted(entered - set(scope.states))]
        faults += [f"{name}: is never entered" for name in sorted(set(scope.states) - entered)]
    return faults


def dead_ends(definition: Json) -> list[str]:
    """From every state an end can be reached."""
    faults = []
    for scope in scopes(definition):
        ends = {
            name for name, state in scope.states.items() if state.get("End") or state["Type"] in ("Succeed", "Fail")
        }
        faults += [f"{name}: no end can be reached" for name in scope.states if not scope.reachable(name) & ends]
    return faults


def choices_without_default(definition: Json) -> list[str]:
    return [n for n, state in states(definition).items() if state["Type"] == "Choice" and "Default" not in state]


def short_waits(definition: Json) -> list[str]:
    """Each round of a poll costs transitions, and FSx throttles calls."""
    faults = []
    for name, state in states(definition).items():
        if state["Type"] == "Wait":
            seconds = state.get("Seconds")
            value = constant(str(seconds)) if is_expression(seconds) else seconds
            if not isinstance(value, int) or value < SHORTEST_WAIT_SECONDS:
                faults.append(f"{name}: {seconds}")
    return faults


def unbounded_loops(definition: Json, *, counted_elsewhere: frozenset[tuple[str, str]] = frozenset()) -> list[str]:
    """Every loop has an arrow whose condition a counter ends. Without these arrows there must be no loop.

    `counted_elsewhere`: arrows, by source and condition, of loops that a Lambda counts.
    """
    faults = []
    for scope in scopes(definition):
        closing = [(arrow, counter) for arrow in scope.arrows() for counter in _counters(arrow)]
        elsewhere = {arrow for arrow in scope.arrows() if (arrow.source, arrow.condition) in counted_elsewhere}
        others = {arrow for arrow, _ in closing} | elsewhere
        bounded = elsewhere | {arrow for arrow, counter in closing if _counts(scope, arrow, counter, others)}
        faults += [
            f"{arrow.source} -> {arrow.target}: no counter bounds this loop"
            for arrow in set(scope.arrows()) - bounded
            if arrow.source in scope.reachable(arrow.target, without=bounded)
        ]
    return faults


def unexplained_troubles(definition: Json) -> list[str]:
    """A state that passes `$states.input.reason` on to people must get one on every path."""
    faults = []
    for scope in scopes(definition):
        for arrow in scope.arrows():
            asks = "$states.input.reason" in str(scope.states.get(arrow.target, {}))
            if asks and arrow.kind != "catch" and not _gives_a_reason(scope, arrow.source):
                faults.append(f"{arrow.source} -> {arrow.target}: gives no reason")
    return faults


def _gives_a_reason(scope: Scope, name: str) -> bool:
    """A Choice, and a Pass without an Output, pass their input on; any other state has it in its Output."""
    state = scope.states[name]
    if state["Type"] != "Choice" and not (state["Type"] == "Pass" and "Output" not in state):
        return "'reason'" in str(state.get("Output"))
    return all(_gives_a_reason(scope, arrow.source) for arrow in scope.arrows() if arrow.target == name)


def _counts(scope: Scope, arrow: Arrow, counter: str, closing: set[Arrow]) -> bool:
    """Each round through the arrow adds one, and none resets it; loops through other such arrows have their own."""
    adding, setting = set(), set()
    for name, state in scope.states.items():
        values = [state.get("Assign", {}).get(counter)] + [
            way.rule.get("Assign", {}).get(counter) for way in scope.arrows() if way.source == name
        ]
        if is_increment(values[0], counter):
            adding.add(name)
        elif any(value is not None for value in values):
            setting.add(name)

    others = closing - {arrow}
    # A state that failed has not counted: a loop through its Catch adds nothing.
    counted = {way for way in scope.arrows() if way.source in adding and way.kind == "next"}
    if arrow.source in scope.reachable(arrow.target, without=others | counted):
        return False
    around = scope.reachable(arrow.target, without=others)
    return not any(name in around and arrow.source in scope.reachable(name, without=others) for name in setting)


def _counters(arrow: Arrow) -> Iterator[str]:
    if arrow.condition:
        for part in conjuncts(arrow.condition):
            counter = variable_kept_below(part)
            if counter:
                yield counter


def _holders(definition: Json, scope: Scope) -> list[Json]:
    everything = states(definition)
    return [everything[name] for name in scope.holders]


def _catches_all(state: Json) -> bool:
    return any("States.ALL" in catcher["ErrorEquals"] for catcher in state.get("Catch", []))


def _has_full_retry(state: Json) -> bool:
    last: dict[str, Any] = (state.get("Retry") or [{}])[-1]
    started = next((errors for job, errors in _OF_A_START.items() if state["Resource"].endswith(job)), ("States.ALL",))
    return (
        last.get("ErrorEquals") == list(started)
        and 1 <= last.get("MaxAttempts", 0) <= 10
        and last.get("BackoffRate", 1) > 1
        and last.get("JitterStrategy") == "FULL"
    )
