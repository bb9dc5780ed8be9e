"""A state machine's definition, ready to run: expressions compiled, and for each state the variables that are live.

A variable, or a field of one, that no state ahead reads is dropped. This changes no outcome, and makes states of the
search equal that differ only in how they were reached.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.definitions.asl import inner_blocks, retry_seconds
from tools.proofs.model.jsonata import compiled
from tools.proofs.model.values import Frozen, freeze

Json = dict[str, Any]
Template = Callable[[Mapping[str, Any]], Any]

# The input of a state counts as a variable: a state that passes it on keeps it live.
INPUT = "$states.input"
_USED = re.compile(r"\$states\.input|\$([A-Za-z_]\w*(?:\.\w+)?)")
_TERMINAL = ("States.DataLimitExceeded", "States.Runtime")


def template(value: Any) -> Template:
    """JSON with expressions in it, as a function of the variables."""
    if isinstance(value, str) and value.startswith("{%"):
        return compiled(value[2:-2].strip())
    if isinstance(value, dict):
        parts = {key: template(inner) for key, inner in value.items()}
        return lambda scope: freeze({key: part(scope) for key, part in parts.items()})
    if isinstance(value, list):
        items = [template(inner) for inner in value]
        return lambda scope: tuple(item(scope) for item in items)
    return lambda scope: value


def used(value: Any) -> set[str]:
    """The variables, or fields of them ("found.run"), that the expressions anywhere in this JSON may read."""
    if isinstance(value, dict):
        return set().union(*(used(inner) for inner in value.values()))
    if isinstance(value, list):
        return set().union(*(used(inner) for inner in value))
    if isinstance(value, str) and value.startswith("{%"):
        return {match[0] if match[0] == INPUT else match[1] for match in _USED.finditer(value)}
    return set()


@dataclass(frozen=True)
class Rule:
    """A Catch, or one branch of a Choice."""

    next: str
    assign: dict[str, Template]
    output: Template | None
    condition: Template | None = None
    errors: tuple[str, ...] = ()
    text: str = ""


@dataclass(frozen=True)
class Retrier:
    errors: tuple[str, ...]
    attempts: int
    retry_seconds: float


@dataclass
class State:
    name: str
    kind: str
    raw: Json
    next: str | None
    assign: dict[str, Template]
    output: Template | None
    arguments: Template
    resource: str
    timeout: Template | None
    error: Template | None
    cause: Template | None
    items: Template | None
    branches: list[Rule]
    default: str | None
    retriers: list[Retrier]
    catchers: list[Rule]
    inner: list["Block"] = field(default_factory=list)


@dataclass
class Block:
    """States with a start: the machine, a branch of a Parallel, or the item processor of a Map."""

    start: str
    states: dict[str, State]
    needs: dict[str, "Needs"]


@dataclass(frozen=True)
class Needs:
    """What a state and those after it may read (liveness): whole variables, or only some of their fields."""

    whole: frozenset[str]
    fields: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, used: frozenset[str]) -> "Needs":
        whole = frozenset(one for one in used if "." not in one or one == INPUT)
        parts = [one.split(".") for one in used - whole]
        names = {name for name, _ in parts} - whole
        return cls(whole, {name: frozenset(field for of, field in parts if of == name) for name in names})

    def kept(self, variables: Frozen) -> Frozen:
        kept = {}
        for name, value in variables.items():
            if name in self.whole:
                kept[name] = value
            elif name in self.fields:
                fields = self.fields[name]
                is_object = isinstance(value, Frozen)
                kept[name] = Frozen({key: value[key] for key in value if key in fields}) if is_object else value
        return Frozen(kept)


@dataclass(frozen=True)
class Machine:
    name: str
    block: Block
    timeout_seconds: int


def matches(error: str, names: tuple[str, ...]) -> bool:
    """Whether a Retry or Catch with these names matches this error. States.ALL does not match the terminal ones."""
    if error in names:
        return True
    if error in _TERMINAL:
        return False
    if "States.ALL" in names:
        return True
    return "States.TaskFailed" in names and error != "States.Timeout"


def load(name: str, definition: Json, *, pruned: bool = True) -> Machine:
    """`pruned`: variables that no state ahead reads are dropped."""
    return Machine(name, _block(definition, pruned), definition.get("TimeoutSeconds", 0))


def _block(raw: Json, pruned: bool) -> Block:
    states = {name: _state(name, state, pruned) for name, state in raw["States"].items()}
    needs = {name: Needs.of(used) for name, used in _needs(states).items()} if pruned else {}
    return Block(raw["StartAt"], states, needs)


def _state(name: str, raw: Json, pruned: bool) -> State:
    return State(
        name=name,
        kind=raw["Type"],
        raw=raw,
        next=raw.get("Next"),
        assign=_assign(raw),
        output=_optional(raw, "Output"),
        arguments=template(raw.get("Arguments", {})),
        resource=raw.get("Resource", "").partition(":::")[2],
        timeout=_optional(raw, "TimeoutSeconds"),
        error=_optional(raw, "Error"),
        cause=_optional(raw, "Cause"),
        items=_optional(raw, "Items"),
        branches=[_rule(one) for one in raw.get("Choices", [])],
        default=raw.get("Default"),
        retriers=[_retrier(one) for one in raw.get("Retry", [])],
        catchers=[_rule(one) for one in raw.get("Catch", [])],
        inner=[_block(one, pruned) for one in inner_blocks(raw)],
    )


def _rule(raw: Json) -> Rule:
    return Rule(
        next=raw["Next"],
        assign=_assign(raw),
        output=_optional(raw, "Output"),
        condition=_optional(raw, "Condition"),
        errors=tuple(raw.get("ErrorEquals", ())),
        text=str(raw.get("Condition", "")).removeprefix("{% ").removesuffix(" %}"),
    )


def _retrier(raw: Json) -> Retrier:
    return Retrier(
        errors=tuple(raw["ErrorEquals"]),
        attempts=raw.get("MaxAttempts", 3),
        retry_seconds=retry_seconds(raw),
    )


def _assign(raw: Json) -> dict[str, Template]:
    return {name: template(value) for name, value in raw.get("Assign", {}).items()}


def _optional(raw: Json, key: str) -> Template | None:
    return template(raw[key]) if key in raw else None


# ---- liveness of variables


def _needs(states: dict[str, State]) -> dict[str, frozenset[str]]:
    """For each state, every variable that it or a state after it may read: a fixed point."""
    needs: dict[str, frozenset[str]] = dict.fromkeys(states, frozenset())
    changed = True
    while changed:
        changed = False
        for name, state in states.items():
            new = frozenset(_needed_by(state, needs))
            changed = changed or new != needs[name]
            needs[name] = new
    return needs


def _needed_by(state: State, needs: Mapping[str, frozenset[str]]) -> set[str]:
    raw = state.raw
    own = used({key: raw[key] for key in raw if key not in ("Assign", "Output", "Catch", "Choices", "ItemProcessor")})
    # The item processor has the item as its input, not the state's.
    own |= used(raw.get("ItemProcessor")) - {INPUT}
    passes_on = state.kind in ("Pass", "Wait", "Choice", "Succeed")
    branches = [(raw, state.next, passes_on)] if state.kind != "Choice" else [(raw, state.default, True)]
    branches += [(rule, rule["Next"], True) for rule in raw.get("Choices", [])]
    branches += [(rule, rule["Next"], False) for rule in raw.get("Catch", [])]
    for rule, target, keeps_input in branches:
        own |= used({key: rule[key] for key in ("Assign", "Output", "Condition") if key in rule})
        after = set(needs.get(target, ())) if target else ({INPUT} if keeps_input else set())
        if "Output" in rule or not keeps_input:
            after.discard(INPUT)
        own |= {one for one in after if one.partition(".")[0] not in rule.get("Assign", {})}
    return own
