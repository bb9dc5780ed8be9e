"""Rules: how a flow counts rounds, seconds and attempts. Each check gives the faults as sentences."""

import re

from tools.definitions.asl import Arrow, Json, Scope, bare, inner_blocks, scopes, states, tasks
from tools.definitions.expressions import conjuncts, constant, is_increment, variable_kept_below
from tools.definitions.handlers import function_name

# As in `$polls * 30 < $limits.scratch`.
_COUNTED = re.compile(r"\$\w+ \* (\d+) <")


def counters_not_set_back(
    definition: Json, *, counted_elsewhere: frozenset[tuple[str, str]] = frozenset()
) -> list[str]:
    """Every counter starts at zero: no loop continues the count of another loop.

    `counted_elsewhere`: arrows, by source and condition, of loops that a Lambda counts.
    """
    faults = []
    for scope in scopes(definition):
        closing = {arrow: counter for arrow in scope.arrows() if (counter := _counter(arrow))}
        elsewhere = [arrow for arrow in scope.arrows() if (arrow.source, arrow.condition) in counted_elsewhere]
        for arrow, counter in closing.items():
            others = [*(one for one in closing if one is not arrow), *elsewhere]
            around = {
                name
                for name in scope.reachable(arrow.target, without=others)
                if arrow.source in scope.reachable(name, without=others)
            }
            if _comes_with_another_count(scope, around, counter):
                faults.append(f"{arrow.source}: ${counter} may continue another count")
    return faults


def waits_not_counted(definition: Json) -> list[str]:
    """A limit in seconds counts rounds of a fixed length: each wait has that length."""
    faults = []
    for scope in scopes(definition):
        for arrow in filter(_counter, scope.arrows()):
            wait = _first_wait(scope, arrow.target)
            counted = _COUNTED.search(arrow.condition)
            if counted and constant(str(wait)) != int(counted[1]):
                faults.append(f"{arrow.source}: a round is {counted[1]} s, and the wait is {bare(str(wait))} s")
    return faults


def uncounted_attempts(definition: Json) -> list[str]:
    """Judge gets the counts of each cause, and its new counts are kept; each attempt has its own number, and the probe
    of a running training asks about that attempt: a task that ECS does not list yet would be `gone`."""
    faults = []
    for name, state in tasks(definition).items():
        function = function_name(str(state.get("Arguments", {}).get("FunctionName", "")))
        if function.endswith("-judge"):
            asked, kept = state["Arguments"]["Payload"], state.get("Assign", {})
            if (
                asked.get("attempts") != "{% $attempts %}"
                or kept.get("attempts") != "{% $states.result.Payload.attempts %}"
            ):
                faults.append(f"{name}: the counts are lost")
            if not is_increment(kept.get("attempt"), "attempt"):
                faults.append(f"{name}: the next attempt has no number of its own")
            faults += _old_beginnings(definition, name)
    for holder in states(definition).values():
        beside = {name: state for block in inner_blocks(holder) for name, state in block["States"].items()}
        if any(str(state.get("Resource")).endswith("ecs:runTask.sync") for state in beside.values()):
            for name, state in beside.items():
                asked = state.get("Arguments", {}).get("Payload")
                if asked is not None and asked.get("attempt") != "{% $attempt %}":
                    faults.append(f"{name}: does not name this attempt")
    return faults


def _first_wait(scope: Scope, name: str) -> object:
    """The seconds of the first wait on the way from here without errors."""
    while name in scope.states and "Seconds" not in scope.states[name]:
        name = scope.states[name].get("Next", "")
    return scope.states.get(name, {}).get("Seconds")


def _old_beginnings(definition: Json, judge: str) -> list[str]:
    """Its time is counted from its own beginning: that is assigned on every path to the next attempt."""
    faults = []
    for scope in (one for one in scopes(definition) if judge in one.states):
        begun = {arrow for arrow in scope.arrows() if "attempt_began" in scope.assigned_on(arrow)}
        training = {name for name, state in scope.states.items() if state["Type"] == "Parallel"}
        faults += [
            f"{judge} -> {name}: begins with an earlier attempt"
            for name in training & scope.reachable(judge, without=begun)
        ]
    return faults


def _counter(arrow: Arrow) -> str | None:
    found = (variable_kept_below(part) for part in conjuncts(arrow.condition)) if arrow.condition else iter(())
    return next((counter for counter in found if counter), None)


def _comes_with_another_count(scope: Scope, around: set[str], counter: str) -> bool:
    """Whether a path into these states comes from where it was counted, and nothing on it sets the counter to zero."""
    zeroing: set[Arrow] = set()
    counting: set[Arrow] = set()
    for arrow in scope.arrows():
        assigned = scope.assigned_on(arrow)
        if counter in assigned:
            (zeroing if assigned[counter] == 0 else counting).add(arrow)
    inside = {arrow for arrow in scope.arrows() if {arrow.source, arrow.target} <= around}
    begun = {arrow.target for arrow in counting - inside} | (around if counting & inside else set())
    reached = {name for start in begun for name in scope.reachable(start, without=zeroing | inside)}
    return any(
        arrow.target in around and arrow.source in reached - around and arrow not in zeroing for arrow in scope.arrows()
    )
