"""Rules: which answer a flow decides by, and that it is the last one. Each check gives the faults as sentences."""

from collections.abc import Iterator

from tools.definitions.asl import Json, Scope, scopes, tasks

_EXPORTS = "fsx:createDataRepositoryTask"


def mixed_questions(definition: Json) -> list[str]:
    """A Choice that reads its input has one source: with two, it would take one's answer for the other's."""
    faults = []
    for scope in scopes(definition):
        for name, state in scope.states.items():
            if state["Type"] == "Choice" and "$states.input" in str(state["Choices"]):
                sources = sorted(set(_answers(scope, name, set())))
                if len(sources) != 1:
                    faults.append(f"{name}: is about {' and '.join(sources) or 'nothing'}")
    return faults


def mixed_exports(definition: Json) -> list[str]:
    """The result of an earlier export must not count for a later one, or for one that could not start: `$exported` is
    assigned on every path from a state that exports to one that reads it."""
    faults = []
    for scope in scopes(definition):
        exporting = [name for name, state in scope.states.items() if str(state.get("Resource")).endswith(_EXPORTS)]
        setting = [arrow for arrow in scope.arrows() if "exported" in scope.assigned_on(arrow)]
        for name in exporting:
            readers = scope.reachable(name, without=setting) & _readers(scope)
            faults += [f"{name} -> {reader}: $exported may be of an earlier export" for reader in sorted(readers)]
    return faults


def kept_since_not_passed_on(definition: Json) -> list[str]:
    """When a file system is kept again, `kept since` stays: the sweep counts its pauses from that time."""
    return [
        name
        for name, state in tasks(definition).items()
        for asked in [state["Arguments"].get("Payload", {})]
        if asked.get("state") == "kept" and asked.get("since") != "{% $found.file_system.kept_since %}"
    ]


def _answers(scope: Scope, name: str, seen: set[str]) -> Iterator[str]:
    """The states whose output or error is the input of this one."""
    seen.add(name)
    if name == scope.start:
        yield "the input of the block"
    for arrow in scope.arrows():
        if arrow.target != name:
            continue
        source = scope.states[arrow.source]
        if source["Type"] in ("Choice", "Pass", "Wait") and "Output" not in source:
            if arrow.source not in seen:
                yield from _answers(scope, arrow.source, seen)
        else:
            yield f"an error of {arrow.source}" if arrow.kind == "catch" else arrow.source


def _readers(scope: Scope) -> set[str]:
    return {name for name, state in scope.states.items() if "$exported" in str(state)}
