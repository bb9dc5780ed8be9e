"""A state machine as a graph: scopes, states, and the arrows between them."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Arrow:
    """`kind` is next, default, when or catch; `rule` is the JSON that has it."""

    source: str
    target: str
    kind: str
    rule: Json = field(compare=False)
    condition: str = ""


@dataclass(frozen=True)
class Scope:
    """One block of states: the machine itself, a branch of a Parallel, or what a Map does with each item."""

    start: str
    states: dict[str, Json]
    holders: tuple[str, ...]
    path: str = ""
    """Where the block stands in the definition, as AWS writes it: `/States/Both/Branches[0]`."""

    def arrows(self) -> list[Arrow]:
        return [arrow for name, state in self.states.items() for arrow in arrows_of(name, state)]

    def assigned_on(self, arrow: Arrow) -> Json:
        """A Catch and a rule of a Choice have their own Assign; the state's Assign is for its Next and Default."""
        holder = self.states[arrow.source] if arrow.kind in ("next", "default") else arrow.rule
        assigned: Json = holder.get("Assign", {})
        return assigned

    def reachable(self, start: str, *, without: Collection[Arrow] = ()) -> set[str]:
        """Every state that can be entered from `start`, itself included, without these arrows."""
        seen, ahead = {start}, [start]
        while ahead:
            name = ahead.pop()
            for arrow in arrows_of(name, self.states.get(name, {})):
                if arrow not in without and arrow.target not in seen:
                    seen.add(arrow.target)
                    ahead.append(arrow.target)
        return seen


def bare(expression: str) -> str:
    """A JSONata expression without its fences."""
    return expression.removeprefix("{%").removesuffix("%}").strip()


def is_expression(value: Any) -> bool:
    return isinstance(value, str) and value.startswith("{%") and value.endswith("%}")


def inner_blocks(state: Json) -> list[Json]:
    return [block for _, block in placed_blocks(state)]


def placed_blocks(state: Json) -> list[tuple[str, Json]]:
    """The blocks inside a state, each with its place in the state. `Iterator` is what JSONPath machines may write."""
    branches = [(f"Branches[{number}]", block) for number, block in enumerate(state.get("Branches", []))]
    return branches + [(field, state[field]) for field in ("ItemProcessor", "Iterator") if field in state]


def scopes(block: Json, holders: tuple[str, ...] = (), path: str = "") -> Iterator[Scope]:
    """Outermost first."""
    yield Scope(block["StartAt"], block["States"], holders, path)
    for name, state in block["States"].items():
        for place, inner in placed_blocks(state):
            yield from scopes(inner, (*holders, name), f"{path}/States/{name}/{place}")


def states(definition: Json) -> dict[str, Json]:
    """Every state by its name, which is unique in the machine."""
    return {name: state for scope in scopes(definition) for name, state in scope.states.items()}


def tasks(definition: Json) -> dict[str, Json]:
    return {name: state for name, state in states(definition).items() if state["Type"] == "Task"}


def arrows_of(name: str, state: Json) -> list[Arrow]:
    found = [Arrow(name, state["Next"], "next", state)] if "Next" in state else []
    found += [
        Arrow(name, rule["Next"], "when", rule, bare(rule.get("Condition", ""))) for rule in state.get("Choices", [])
    ]
    found += [Arrow(name, state["Default"], "default", state)] if "Default" in state else []
    return found + [Arrow(name, catcher["Next"], "catch", catcher) for catcher in state.get("Catch", [])]


def retry_seconds(rule: Json) -> float:
    """The total wait of a Retry before it gives up, without jitter."""
    interval, rate = rule.get("IntervalSeconds", 1), rule.get("BackoffRate", 2)
    longest = rule.get("MaxDelaySeconds", float("inf"))
    return float(sum(min(interval * rate**n, longest) for n in range(rule.get("MaxAttempts", 3))))


def in_flow_order(scope: Scope) -> list[str]:
    """For reading: the main path first, then its branches; unreachable states last."""
    order: dict[str, None] = {}
    ahead = [scope.start]
    while ahead:
        name = ahead.pop()
        if name in order or name not in scope.states:
            continue
        order[name] = None
        ahead += [arrow.target for arrow in reversed(arrows_of(name, scope.states[name]))]
    return [*order, *sorted(set(scope.states) - set(order))]
