"""What must hold of a state machine whatever it does. Each check answers with the faults it found, as sentences."""

from collections.abc import Iterator
from typing import Any

from tests.support.asl import Arrow, Json, Scope, is_expression, scopes, states, tasks
from tests.support.expressions import conjuncts, constant, is_increment, variable_kept_below

DELETES = "arn:aws:states:::aws-sdk:fsx:deleteFileSystem"
# The two questions whose yes is a proof, and nothing beside the proof may be said in their conditions.
PROOFS = {
    ("All in S3?", "$verification.whole"),
    ("Holds work?", "$found.file_system.state = 'empty'"),
}
SHORTEST_WAIT_SECONDS = 10


def unproven_deletions(definition: Json) -> list[str]:
    """Take both proofs away: now nothing may lead to a deletion any more."""
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
    """Who assigns `variable`, beside the Lambda whose answer it is? Starting with nothing is allowed."""
    faults = []
    for name, state in states(definition).items():
        for rule in [state, *state.get("Catch", []), *state.get("Choices", [])]:
            if variable not in rule.get("Assign", {}) or rule["Assign"][variable] == "{% null %}":
                continue
            invoked = str(state.get("Arguments", {}).get("FunctionName", "")) if rule is state else ""
            whole = rule["Assign"][variable] == "{% $states.result.Payload %}"
            if not (invoked.endswith(f"-{function}") and whole):
                faults.append(f"{name}: assigns ${variable}")
    return faults


def tasks_without_catch(definition: Json) -> list[str]:
    """An error counts as caught where the task or something around it catches all of them."""
    return [
        name
        for scope in scopes(definition)
        for name, state in scope.states.items()
        if state["Type"] == "Task" and not any(_catches_all(holder) for holder in (state, *_holders(definition, scope)))
    ]


def tasks_without_retry(definition: Json) -> list[str]:
    """Patient, and not all at once: the last rule is for all errors, with back-off, jitter and an end."""
    return [name for name, state in tasks(definition).items() if not _is_patient(state.get("Retry", []))]


def lost_states(definition: Json) -> list[str]:
    """Named but not there, or there but never entered."""
    faults = []
    for scope in scopes(definition):
        entered = scope.reachable(scope.start)
        faults += [f"{name}: does not exist" for name in sorted(entered - set(scope.states))]
        faults += [f"{name}: is never entered" for name in sorted(set(scope.states) - entered)]
    return faults


def dead_ends(definition: Json) -> list[str]:
    """From every state an end can be reached: nothing can only go round."""
    faults = []
    for scope in scopes(definition):
        ends = {
            name for name, state in scope.states.items() if state.get("End") or state["Type"] in ("Succeed", "Fail")
        }
        faults += [f"{name}: no end in reach" for name in scope.states if not scope.reachable(name) & ends]
    return faults


def choices_without_default(definition: Json) -> list[str]:
    return [n for n, state in states(definition).items() if state["Type"] == "Choice" and "Default" not in state]


def short_waits(definition: Json) -> list[str]:
    """Each round of a poll costs transitions, and FSx's calls are throttled."""
    faults = []
    for name, state in states(definition).items():
        if state["Type"] == "Wait":
            seconds = state.get("Seconds")
            value = constant(str(seconds)) if is_expression(seconds) else seconds
            if not isinstance(value, int) or value < SHORTEST_WAIT_SECONDS:
                faults.append(f"{name}: {seconds}")
    return faults


def unbounded_loops(definition: Json, *, counted_elsewhere: frozenset[tuple[str, str]] = frozenset()) -> list[str]:
    """Every way round passes an arrow that a counter closes one day. What is left without those must not go round.

    `counted_elsewhere` are arrows, by source and condition, of which somebody else counts the rounds.
    """
    faults = []
    for scope in scopes(definition):
        closing = [(arrow, counter) for arrow in scope.arrows() for counter in _counters(arrow)]
        elsewhere = {arrow for arrow in scope.arrows() if (arrow.source, arrow.condition) in counted_elsewhere}
        others = {arrow for arrow, _ in closing} | elsewhere
        bounded = elsewhere | {arrow for arrow, counter in closing if _counts(scope, arrow, counter, others)}
        faults += [
            f"{arrow.source} -> {arrow.target}: nothing counts the rounds"
            for arrow in set(scope.arrows()) - bounded
            if arrow.source in scope.reachable(arrow.target, without=bounded)
        ]
    return faults


def unexplained_troubles(definition: Json) -> list[str]:
    """Who passes its input's `reason` or error on to people must get one, on every way that leads to it."""
    faults = []
    for scope in scopes(definition):
        for arrow in scope.arrows():
            asks = "$states.input.reason" in str(scope.states.get(arrow.target, {}))
            if asks and arrow.kind != "catch" and not _brings_a_reason(scope, arrow.source):
                faults.append(f"{arrow.source} -> {arrow.target}: brings no reason")
    return faults


def _brings_a_reason(scope: Scope, name: str) -> bool:
    """A question hands on what it was handed; everything else says it in its own output."""
    if scope.states[name]["Type"] != "Choice":
        return "'reason'" in str(scope.states[name].get("Output"))
    return all(_brings_a_reason(scope, arrow.source) for arrow in scope.arrows() if arrow.target == name)


def _counts(scope: Scope, arrow: Arrow, counter: str, closing: set[Arrow]) -> bool:
    """Each round through the arrow adds one, and none sets it back; rounds through other such arrows are theirs."""
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
    # A state that failed has counted nothing: its Catch is a way round that adds none.
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


def _is_patient(rules: list[dict[str, Any]]) -> bool:
    last = rules[-1] if rules else {}
    return (
        last.get("ErrorEquals") == ["States.ALL"]
        and 1 <= last.get("MaxAttempts", 0) <= 10
        and last.get("BackoffRate", 1) > 1
        and last.get("JitterStrategy") == "FULL"
    )
