"""Both flows whole, against the outlines in golden/. A change of a flow is a change there, which a person reads."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from tools.definitions import flow
from tools.definitions.templates import Assembly
from tools.docgen import outlines, pictures

MACHINES = ("Train", "Teardown")


@pytest.mark.parametrize("name", ["train.flow", "teardown.flow"])
def test_the_flow_is_the_one_that_was_reviewed(assembly: Assembly, name: str) -> None:
    assert outlines.rendered(assembly)[name] == outlines.committed(name), f"if this is meant: {outlines.REFRESH}"


def test_the_pictures_in_the_docs_are_those_of_the_definitions(assembly: Assembly) -> None:
    page = pictures.PAGE.read_text()
    assert page == pictures.with_pictures(page, assembly), f"if this is meant: {outlines.REFRESH}"


@pytest.mark.parametrize("machine", MACHINES)
def test_the_picture_shows_every_way_on_but_those_of_asking_again(assembly: Assembly, machine: str) -> None:
    definition = assembly.machine(machine)
    before = pictures.mermaid(definition)
    for path in _leaves(definition):
        # Within what is asked again, from state to state, nothing is drawn: it is one box.
        if path[-1] == "Next" and ": " not in (target := _at(definition, path)):
            states = len(path) - path[::-1].index("States")
            elsewhere = next(name for name in _at(definition, path[:states]) if ": " not in name and name != target)
            changed = copy.deepcopy(definition)
            _at(changed, path[:-1])["Next"] = elsewhere
            assert pictures.mermaid(changed) != before, path


@pytest.mark.parametrize("machine", MACHINES)
def test_the_outline_tells_every_value_of_the_definition(assembly: Assembly, machine: str) -> None:
    definition = assembly.machine(machine)
    before = flow.outline(definition)
    for path in _leaves(definition):
        changed = copy.deepcopy(definition)
        _at(changed, path[:-1])[path[-1]] = "changed"
        assert flow.outline(changed) != before, path


@pytest.mark.parametrize("machine", MACHINES)
def test_the_outline_tells_every_key_of_the_definition(assembly: Assembly, machine: str) -> None:
    definition = assembly.machine(machine)
    before = flow.outline(definition)
    for path in _leaves(definition):
        if isinstance(_at(definition, path[:-1]), dict) and path[-1] not in ("Type", "StartAt", "Next", "Condition"):
            changed = copy.deepcopy(definition)
            del _at(changed, path[:-1])[path[-1]]
            assert flow.outline(changed) != before, path


def test_the_outline_tells_text_from_numbers() -> None:
    def with_seconds(seconds: Any) -> dict[str, Any]:
        return {"StartAt": "Rest", "States": {"Rest": {"Type": "Wait", "Seconds": seconds, "End": True}}}

    assert flow.outline(with_seconds(10)) != flow.outline(with_seconds("10"))


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    empty = True
    for key, item in inner:
        empty = False
        yield from _leaves(item, (*path, key))
    if empty and path:
        yield path


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value
