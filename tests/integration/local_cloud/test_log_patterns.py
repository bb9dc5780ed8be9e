"""JSON filter patterns of CloudWatch Logs."""

from __future__ import annotations

import pytest

from tools.local_cloud.platform.log_patterns import BadPattern, compile_pattern

LINE = '{"kind": "saved", "step": 12, "run": "r-1", "loss": null, "tags": ["a"], "at": {"zone": "a"}}'


@pytest.mark.parametrize(
    "pattern",
    [
        '{ $.kind = "saved" }',
        '{ ($.kind = "saved") && ($.run = "r-1") }',
        '{($.kind="removed")||($.step>=12)}',
        '{ ($.kind = "saved") && (($.step < 5) || ($.step > 10)) }',
        '{ $.run = "r-*" }',
        '{ $.kind != "removed" }',
        "{ $.step = 12 }",
        "{ $.loss IS NULL }",
        "{ $.nothing NOT EXISTS }",
        '{ $.tags[0] = "a" }',
        '{ $.at.zone = "a" }',
    ],
)
def test_a_pattern_finds_its_line(pattern: str) -> None:
    assert compile_pattern(pattern)(LINE)


@pytest.mark.parametrize(
    "pattern",
    [
        '{ $.kind = "save" }',
        '{ ($.kind = "saved") && ($.run = "r-10") }',
        "{ $.step > 12 }",
        '{ $.step = "12" }',
        '{ $.nothing = "x" }',
        '{ $.nothing != "x" }',
        "{ $.step IS NULL }",
    ],
)
def test_a_pattern_passes_over_other_lines(pattern: str) -> None:
    assert not compile_pattern(pattern)(LINE)


def test_a_line_that_is_no_object_is_never_found() -> None:
    matches = compile_pattern('{ $.kind != "x" }')
    assert not matches("Traceback (most recent call last):")
    assert not matches('["kind"]')


@pytest.mark.parametrize(
    "pattern", ['{ $.kind = "saved"', '{ kind = "x" }', "{ $.a ~ 1 }", "{ ($.a = 1 }", "{ $.a = 1 1 }"]
)
def test_a_pattern_that_cannot_be_read_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compile_pattern(pattern)
