"""Whose answer a flow goes by, and that it is the last. Each check answers with the faults it found, as sentences."""

from collections.abc import Iterator

from tests.support.asl import Json, Scope, scopes, tasks

_EXPORTS = "fsx:createDataRepositoryTask"


def mixed_questions(definition: Json) -> list[str]:
    """A question about its input is about the answer of one state; another's it would take for that one's."""
    faults = []
    for scope in scopes(definition):
        for name, state in scope.states.items():
            if state["Type"] == "Choice" and "$states.input" in str(state["Choices"]):
                sources = sorted(set(_answers(scope, name, set())))
                if len(sources) != 1:
                    faults.append(f"{name}: is about {' and '.join(sources) or 'nothing'}")
    return faults


def exports_not_told_apart(definition: Json) -> list[str]:
    """What an earlier export came to says nothing of a later one, or of one that could not be made: `$exported` is set
    on every way from there to who reads it."""
    faults = []
    for scope in scopes(definition):
        asking = [name for name, state in scope.states.items() if str(state.get("Resource")).endswith(_EXPORTS)]
        setting = [arrow for arrow in scope.arrows() if "exported" in scope.assigned_on(arrow)]
        for name in asking:
            readers = scope.reachable(name, without=setting) & _readers(scope)
            faults += [f"{name} -> {reader}: $exported is of an earlier export" for reader in sorted(readers)]
    return faults


def forgotten_since_when(definition: Json) -> list[str]:
    """A file system that is kept again is kept since the first time: the sweep counts its pauses from there."""
    return [
        name
        for name, state in tasks(definition).items()
        for asked in [state["Arguments"].get("Payload", {})]
        if asked.get("state") == "kept" and asked.get("since") != "{% $found.file_system.kept_since %}"
    ]


def _answers(scope: Scope, name: str, seen: set[str]) -> Iterator[str]:
    """Whose output, or error, this state is handed."""
    seen.add(name)
    if name == scope.start:
        yield "what it began with"
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
