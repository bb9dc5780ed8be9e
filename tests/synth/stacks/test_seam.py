"""Flows and Lambdas speak through models, and goodput knows states by name: a change of one side is noticed."""

import runpy
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import aws_cdk as cdk
import pytest
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn

from belay.contract.messages.teardown import CertifyAnswer, FindAnswer, TeardownInput, VerifyAnswer
from belay.contract.states import TeardownState, TrainState, state_named
from belay.goodput import flow_states
from stacks.flows.jsonata import UnknownField, Variable, assigned, condition, filled, given, record
from stacks.flows.machine import UnknownState, machine
from stacks.functions.flow_function import FlowFunction
from stacks.functions.teardown import TeardownFunctions
from stacks.functions.training import TrainingFunctions
from tools.definitions import timing
from tools.definitions.asl import states
from tools.definitions.handlers import handler_module
from tools.definitions.synth import NotSynthesized, synth
from tools.definitions.templates import Assembly

FOUND = Variable("found", FindAnswer)
ASKED: dict[str, FlowFunction] = {
    name: one
    for group in (TrainingFunctions, TeardownFunctions)
    for name, one in vars(group(MagicMock(), MagicMock())).items()
}


# ---- messages


@pytest.mark.parametrize(
    ("module", "old", "new", "said"),
    [
        ("teardown", "export_limit_seconds:", "export_seconds:", "$found.export_limit_seconds: FindAnswer has"),
        ("training", "    links: list", "    folders: list", "$request.links: AcceptAnswer has"),
        ("teardown", "    exported: bool", "    was_exported: bool", "VerifyQuestion has no exported"),
        (
            "teardown",
            "    run: str\n    job: str\n",
            "    run: str\n    job: str\n    node: int\n",
            "CertifyQuestion needs node",
        ),
    ],
)
def test_a_field_that_is_renamed_or_added_on_one_side_ends_the_synth(
    tmp_path: Path, module: str, old: str, new: str, said: str
) -> None:
    program = ("-m", "tests.synth.stacks.app_with_another_contract", f"belay.contract.messages.{module}", old, new)
    with pytest.raises(NotSynthesized) as ended:
        synth(tmp_path, program=program)
    assert f"UnknownField: {said}" in str(ended.value)


@pytest.mark.parametrize("name", sorted(ASKED))
def test_a_handler_uses_the_models_that_the_flow_is_written_by(name: str) -> None:
    used = list(vars(handler_module(name)).values())
    assert [model for model in (ASKED[name].question, ASKED[name].answer) if model not in used] == []


def test_a_place_is_written_as_jsonata_reads_it() -> None:
    assert condition(FOUND.file_system.id) == "{% $found.file_system.id %}"
    assert str(given(TeardownInput).execution_arn) == "$states.input.execution_arn"


@pytest.mark.parametrize("path", ["file_sytem", "file_system.arn", "run.name", "tasks.arn"])
def test_a_field_that_no_model_has_is_named(path: str) -> None:
    place: Any = FOUND
    with pytest.raises(UnknownField, match=path.split(".")[-1]):
        for field in path.split("."):
            place = getattr(place, field)


def test_a_variable_takes_only_what_its_model_says() -> None:
    verification = Variable("verification", VerifyAnswer)
    assert assigned({verification: given(VerifyAnswer)}) == {"verification": "{% $states.input %}"}
    with pytest.raises(UnknownField, match="verification holds VerifyAnswer"):
        assigned({verification: given(FindAnswer)})
    with pytest.raises(UnknownField, match="VerifyAnswer needs last_verified_step, missing"):
        assigned({verification: {"whole": True}})


def test_a_message_has_all_that_is_required_and_nothing_else() -> None:
    assert filled(TeardownInput, {"execution_arn": FOUND.run}) == {"execution_arn": "{% $found.run %}"}
    with pytest.raises(UnknownField, match="TeardownInput needs execution_arn"):
        filled(TeardownInput, {"asked_by": "the sweep"})
    with pytest.raises(UnknownField, match="CertifyAnswer has no verdict"):
        record(CertifyAnswer, verdict="'Kept'")


def test_a_value_of_an_execution_decides_nothing_in_python() -> None:
    with pytest.raises(TypeError, match=r"\$found.known has a value only in an execution"):
        bool(FOUND.known)


# ---- states


def test_every_listed_state_is_in_one_of_the_flows(assembly: Assembly) -> None:
    there = {state_named(name) for flow in ("Train", "Teardown") for name in states(assembly.machine(flow))}
    assert there == {*TrainState, *TeardownState}


def test_goodput_has_a_line_for_every_state_and_no_other() -> None:
    assert set(flow_states.BUCKET_OF_STATE) == {*TrainState, *TeardownState}


def test_a_state_that_is_not_listed_ends_the_synth() -> None:
    stack = cdk.Stack()
    state = sfn.Pass.jsonata(stack, "Verify twice")
    with pytest.raises(UnknownState, match="Verify twice: not in"):
        machine(
            stack,
            "Machine",
            name="m",
            definition=state,
            states=TeardownState,
            carriers=[],
            timeout=cdk.Duration.days(1),
            log_retention=logs.RetentionDays.ONE_WEEK,
        )


def test_a_name_in_goodputs_table_that_is_no_state_ends_its_import(tmp_path: Path) -> None:
    source = Path(flow_states.__file__).read_text()
    (tmp_path / "flow_states.py").write_text(source.replace("TeardownState.VERIFY:", "TeardownState.VERIFIES:"))
    with pytest.raises(AttributeError, match="VERIFIES"):
        runpy.run_path(str(tmp_path / "flow_states.py"))


def test_a_state_without_a_bucket_is_noticed(assembly: Assembly, monkeypatch: pytest.MonkeyPatch) -> None:
    teardown = assembly.machine("Teardown")
    teardown["States"]["Verify twice"] = teardown["States"]["Verify"]
    assert timing.states_without_bucket(teardown) == ["Verify twice: is not in belay/contract/states.py"]

    without = {state: bucket for state, bucket in flow_states.BUCKET_OF_STATE.items() if state != TeardownState.CERTIFY}
    monkeypatch.setattr(timing, "BUCKET_OF_STATE", without)
    assert timing.states_without_bucket(assembly.machine("Teardown")) == ["Certify: goodput has no bucket for it"]
