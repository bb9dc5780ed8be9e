"""What the rules about JSONata see: what does not parse, or reads a variable or a field that is not there."""

from collections.abc import Callable

import pytest

from tools.definitions import dataflow, expressions
from tools.definitions.asl import Json
from tools.definitions.templates import Assembly


@pytest.mark.parametrize(
    ("check", "plant", "fault"),
    [
        (
            dataflow.unreadable_expressions,
            lambda s: s["Link: ready?"]["Choices"][1].update(Condition="{% $polls < %}"),
            "Link: ready?: {% $polls < %}: Unexpected end",
        ),
        (
            dataflow.unassigned_variables,
            lambda s: s["Link: ready?"]["Choices"][1].update(Condition="{% $pols < 3 %}"),
            "Link: ready?: $pols is not assigned on every path here",
        ),
        (
            # On the way through the Catch of `Create scratch file system` there is no file system.
            dataflow.unassigned_variables,
            lambda s: s["Training never started"]["Assign"].update(seen="{% $file_system_id %}"),
            "Training never started: $file_system_id is not assigned on every path here",
        ),
        (
            # What a state assigns it cannot use in the same breath.
            dataflow.unassigned_variables,
            lambda s: s["Accept job"]["Assign"].update(first="{% $run %}"),
            "Accept job: $run is not assigned on every path here",
        ),
        (
            # A Catch leads on with what it assigns, not with what the state would have assigned.
            dataflow.unassigned_variables,
            lambda s: s["Train"]["Catch"][0]["Assign"].pop("failure"),
            "How did it end?: $failure is not assigned on every path here",
        ),
        (
            # What a branch assigns stays in it.
            dataflow.unassigned_variables,
            lambda s: s["Try again?"]["Choices"][0].update(Condition="{% $capacity_polls > 1 %}"),
            "Try again?: $capacity_polls is not assigned on every path here",
        ),
        (
            dataflow.unassigned_variables,
            lambda s: s["Link: ready?"]["Choices"][1].update(Condition="{% $eval('true') %}"),
            "Link: ready?: $eval is not assigned on every path here",
        ),
        (
            dataflow.hidden_variables,
            lambda s: s["Train"]["Branches"][1]["States"]["Instance: asked for"]["Assign"].update(polls=0),
            "Train: $polls hides the one outside",
        ),
        (
            dataflow.misplaced_fields_of_states,
            lambda s: s["Link: how far?"]["Arguments"].update(Payload="{% $states.result %}"),
            "Link: how far?: Arguments has no $states.result",
        ),
        (
            dataflow.misplaced_fields_of_states,
            lambda s: s["Training never started"]["Assign"].update(why="{% $states.errorOutput.Cause %}"),
            "Training never started: Assign has no $states.errorOutput",
        ),
    ],
)
def test_each_check_sees_its_defect(
    assembly: Assembly, check: Callable[[Json], list[str]], plant: Callable[[dict[str, Json]], object], fault: str
) -> None:
    train = assembly.machine("Train")
    plant(train["States"])
    assert any(found.startswith(fault) for found in check(train)), check(train)


def test_the_first_state_may_use_nothing_but_states(assembly: Assembly) -> None:
    train = assembly.machine("Train")
    train["States"]["Accept job"]["Arguments"]["Payload"]["job"] = "{% $job %}"
    assert dataflow.unassigned_variables(train) == ["Accept job: $job is not assigned on every path here"]


@pytest.mark.parametrize(
    ("expression", "free"),
    [
        ("{% $a.b[c = $d] & $string($e) %}", {"a", "d", "e"}),
        ("{% ($x := $a; $f := function($y) { $y + $x + $b }; $f(1)) %}", {"a", "b"}),
        ("{% {'key': $a, $b: [$c, {'d': $d}]} %}", {"a", "b", "c", "d"}),
        ("{% $a ? $b : $c.$d %}", {"a", "b", "c", "d"}),
        ("{% $a^(>$b) %}", {"a", "b"}),
        ("{% $parse($uuid()) %}", set()),
    ],
)
def test_the_variables_of_an_expression_are_all_found(expression: str, free: set[str]) -> None:
    assert expressions.free_variables(expression) == free
