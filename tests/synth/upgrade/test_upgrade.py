"""The runs of the last versions go on when this one is deployed beneath them, and what would break them is noticed."""

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import Field, TypeAdapter

from belay import __version__
from belay.contract import events, tags
from belay.contract.messages import MESSAGES_VERSION
from belay.contract.plan import RunPlan
from lambdas.teardown import certify
from tools.definitions.asl import inner_blocks, states
from tools.definitions.templates import Assembly
from tools.proofs.model import functions
from tools.proofs.upgrade import documents, recording
from tools.proofs.upgrade.check import ThisVersion, check, may_differ
from tools.proofs.upgrade.recording import Recording, last_versions

THE_SAME_END, PROMISES = "runs come to the same end", "promises hold with another fault"
ALLOWED, DOCUMENTS = "calls are allowed", "documents say the same"
Plant = Callable[[pytest.MonkeyPatch, Recording, ThisVersion], tuple[Recording, ThisVersion]]


@pytest.fixture(scope="module")
def newest() -> Recording:
    return last_versions()[-1]


@pytest.fixture(scope="module")
def deployed(assembly: Assembly) -> ThisVersion:
    return ThisVersion.of(assembly)


def wrong_of(recorded: Recording, deployed: ThisVersion, *, faults: int = 0) -> dict[str, list[str]]:
    return {part.name: part.wrong for part in check(recorded, deployed, faults=faults) if part.wrong}


def test_the_runs_of_the_last_versions_go_on(deployed: ThisVersion) -> None:
    for one in last_versions():
        assert may_differ(one) or wrong_of(one, deployed, faults=1) == {}, one.version


def test_this_version_is_recorded(newest: Recording) -> None:
    """Else its own runs would be unknown to the next one: `python -m tools.proofs.upgrade.record`."""
    assert (newest.version, newest.messages_version) == (__version__, MESSAGES_VERSION)
    assert len(recording.sorted_by_version(recording.FOLDER)) <= recording.KEPT


def test_a_run_was_recorded_in_every_state(newest: Recording) -> None:
    recorded = " + ".join(one.at for one in newest.suspended)
    for machine, definition in newest.definitions.items():
        for name, state in states(definition).items():
            # A state in which time passes; one that holds others is where its first one is.
            if state["Type"] in ("Task", "Wait") and not any(
                name in block["States"] for block in _blocks_of_maps(definition)
            ):
                assert name in recorded, f"{machine}: {name}"
    ways = [way for one in newest.suspended for way in one.ends]
    assert len(ways) > 2 * len(newest.suspended)


def _blocks_of_maps(definition: Any) -> Iterator[Any]:
    for state in states(definition).values():
        if state["Type"] == "Map":
            yield from inner_blocks(state)


# ---- what would break runs


def renamed_input(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    """Of Teardown, which an earlier Train starts."""
    text = json.dumps(deployed.flows.definitions["Teardown"]).replace(
        "$states.input.execution_arn", "$states.input.arn"
    )
    definitions = {**deployed.flows.definitions, "Teardown": json.loads(text)}
    return recorded, deployed._replace(flows=deployed.flows._replace(definitions=definitions))


def teardown_without_a_proof(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    """It shows only where an export is not whole."""
    definitions = copy.deepcopy(deployed.flows.definitions)
    definitions["Teardown"]["States"]["All in S3?"] = {"Type": "Pass", "Next": "Delete file system"}
    return recorded, deployed._replace(flows=deployed.flows._replace(definitions=definitions))


def answer_without_a_field(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    """Of certify, which an earlier Train reads as the output of Teardown."""
    answered = certify.handler

    def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
        return {name: value for name, value in answered(event, context).items() if name != "durability"}

    patch.setattr(certify, "handler", handler)
    return recorded, deployed


def another_tag(patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion) -> tuple[Recording, ThisVersion]:
    patch.setattr(tags, "EXECUTION", "belay:started-as")
    return recorded, deployed


def no_such_event(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    """The trainer of a living run goes on writing it."""
    known = Annotated[events.Started | events.Finished | events.Failed, Field(discriminator="kind")]
    patch.setitem(documents.READERS, "event", TypeAdapter(known).validate_python)
    return recorded, deployed


def plan_with_more(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    class Plan(RunPlan):
        nodes: int

    patch.setitem(documents.READERS, "plan", Plan.model_validate)
    return recorded, deployed


def certificate_with_less(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    """As if a later version no longer read what this one says."""
    more = {**recorded.documents["certificate"][0], "region": "us-east-1"}
    return replace(recorded, documents={**recorded.documents, "certificate": [more]}), deployed


def role_without_versions(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    """It may ask what it names, and no other version."""
    assembly = copy.copy(deployed.assembly)
    text = json.dumps([vars(one) for one in assembly.resources])
    changed = json.loads(text.replace(":function:belay-judge:*", ":function:belay-judge:1"))
    assembly.resources = [type(one)(**raw) for one, raw in zip(assembly.resources, changed, strict=True)]
    return recorded, deployed._replace(assembly=assembly)


def function_is_gone(
    patch: pytest.MonkeyPatch, recorded: Recording, deployed: ThisVersion
) -> tuple[Recording, ThisVersion]:
    assembly = copy.copy(deployed.assembly)
    assembly.resources = [one for one in assembly.resources if one.properties.get("FunctionName") != "belay-judge"]
    return recorded, deployed._replace(assembly=assembly)


@pytest.mark.parametrize(
    ("plant", "part", "said"),
    [
        (renamed_input, THE_SAME_END, "BROKEN"),
        (answer_without_a_field, THE_SAME_END, "it goes on: FAILED"),
        (another_tag, THE_SAME_END, "left behind"),
        (no_such_event, DOCUMENTS, "event: cannot be read"),
        (teardown_without_a_proof, PROMISES, "is not whole in S3"),
        (plan_with_more, DOCUMENTS, "plan: cannot be read: nodes"),
        (certificate_with_less, DOCUMENTS, "certificate.region: is not read"),
        (role_without_versions, ALLOWED, "belay-judge:earlier: ImplicitlyDenied"),
        (function_is_gone, "functions are there", "belay-judge: is gone"),
    ],
)
def test_a_change_that_would_break_runs_is_noticed(
    plant: Plant, part: str, said: str, newest: Recording, deployed: ThisVersion, monkeypatch: pytest.MonkeyPatch
) -> None:
    functions.forget_answers()
    try:
        wrong = wrong_of(*plant(monkeypatch, newest, deployed), faults=int(part == PROMISES))
        assert any(said in one for one in wrong.get(part, [])), wrong
    finally:
        functions.forget_answers()


def test_an_earlier_run_asks_the_lambdas_of_its_own_version(newest: Recording, deployed: ThisVersion) -> None:
    """Theirs are broken here, and this version's are not."""
    path = "lambdas/training/scratch_phase.py"
    text = newest.code[path].replace("def handler(", "def handler(event, context): raise RuntimeError\n\n\ndef unused(")
    wrong = wrong_of(replace(newest, code={**newest.code, path: text}), deployed)
    assert any("Train: Scratch file system: how far?" in one for one in wrong[THE_SAME_END])
