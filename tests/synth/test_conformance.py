"""The table of AWS's rules is complete and true, and each fault of such a table is seen."""

import pytest

from tools.definitions.templates import Assembly
from tools.proofs.conformance.operations import used
from tools.proofs.conformance.rules import Rule, faults_of, rules

TEST = "tests/synth/test_conformance.py::test_the_table_is_complete_and_true"
GOOD = Rule("fsx:CreateFileSystem", "a rule", "a document", TEST)


@pytest.fixture(scope="module")
def operations(assembly: Assembly) -> set[str]:
    return used([assembly.machine("Train"), assembly.machine("Teardown")])


def test_the_table_is_complete_and_true(operations: set[str]) -> None:
    assert faults_of(rules(), operations) == []


def test_the_operations_are_those_of_code_flows_and_recorded_calls(operations: set[str]) -> None:
    assert {
        "fsx:DeleteDataRepositoryAssociation",  # a state of Train
        "states:GetExecutionHistory",  # the command line, by a paginator
        "servicequotas:GetServiceQuota",  # the command line
        "logs:FilterLogEvents",  # the pump
        "iam:PassRole",  # recorded
    } <= operations


@pytest.mark.parametrize(
    ("known", "fault"),
    [
        ([], "fsx:CreateFileSystem: is used, and has no rule"),
        ([GOOD._replace(source="")], "fsx:CreateFileSystem: a rule: has no source"),
        (
            [GOOD._replace(enforced_by="tests/synth/test_conformance.py::test_gone")],
            "fsx:CreateFileSystem: a rule: there is no test tests/synth/test_conformance.py::test_gone",
        ),
        (
            [GOOD._replace(enforced_by="not enforced: ")],
            "fsx:CreateFileSystem: a rule: does not say why it is not enforced",
        ),
    ],
)
def test_a_fault_of_the_table_is_named(known: list[Rule], fault: str) -> None:
    assert faults_of(known, {"fsx:CreateFileSystem"}) == [fault]
