"""Each assumption that a live run can see is broken once, in what was seen: that one is named, and no other."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from belay.client.live.judging.assumptions import ASSUMPTIONS, Assumption, facts_of
from belay.client.live.seen import FailedCall, Seen, StateResult
from belay.contract.verdict import Durability
from tests.unit.client.live.seen_on_aws import export, seen_on_aws
from tests.unit.client.samples import at
from tools.repository import REPOSITORY

# What no run can see as Belay is deployed.
NEVER_SEEN = {"PutObject for a link that is only read", "task that fits nowhere"}
Break = Callable[[Any], Any]


def failed(error: str) -> StateResult:
    return StateResult(status="FAILED", error=error)


def inspected(name: str, **found: Any) -> Break:
    return lambda seen: seen.inspection[name].update(found)


def of(name: str, value: Any) -> Break:
    return lambda seen: setattr(seen, name, value)


BROKEN: dict[str, Break] = {
    "definitions": lambda seen: seen.definitions[0].errors.append("SCHEMA_VALIDATION_FAILED: ClientToken"),
    "error of a link": of("link_without_file_system", failed("Fsx.FileSystemNotFound")),
    "error of a deletion": of("delete_without_file_system", failed("FSx.ResourceNotFoundException")),
    "fault in Output": of("fault_in_output", failed("States.QueryEvaluationError")),
    "rights on S3": lambda seen: setattr(seen.rights[0], "decision", "implicitDeny"),
    "unknown member": of("unknown_member", "SerializationException: no such member"),
    "price of the file system": of("file_system_prices", [0.16, 0.29]),
    "price of the instance": of("instance_prices", [0.1209]),
    "new execution": of("described_at", at(4)),
    "tags": lambda seen: setattr(seen.file_system, "tagged_at", at(12)),
    "links": lambda seen: setattr(seen.links["dra-1"], "failure", "FAILED: the bucket cannot be reached"),
    "import task": lambda seen: setattr(seen.links["dra-2"], "import_created_at", at(699)),
    "error of a second task": of("export_beside_another_task", failed("FSx.BadRequestException")),
    "client token": lambda seen: setattr(seen.run_task, "error", "ECS.InvalidParameterException: clientToken"),
    "memory": lambda seen: setattr(seen.instance, "registered_mib", 8100),
    "mount": inspected("mount", options=["rw", "noatime"]),
    "identity": inspected("identity", bounding="21"),
    "direct I/O": inspected("direct", is_right=False),
    "exchange": inspected("exchange", refused="EPERM"),
    "lock": inspected("lock", excludes=False),
    "released file": inspected("data", is_right=False),
    "mark of an export": inspected("exported", archived=False, state="(0x00000000)"),
    "export of a renamed folder": lambda seen: seen.exports.insert(1, export(1105, 1120)),
    "checksum": lambda seen: setattr(seen.stored[0], "type", "COMPOSITE"),
    "deletion": of("teardown_failures", [FailedCall(state="Delete file system", error="FSx.BadRequestException")]),
    "verdict": lambda seen: setattr(seen, "verdict", seen.verdict.model_copy(update={"durability": Durability.KEPT})),
    "nothing left": of("left", ["file system fs-1: belay sweep"]),
}


def broken(seen: Seen) -> list[str]:
    return [fact.name for fact in facts_of(seen) if fact.held == "no"]


def test_a_run_that_saw_everything_as_assumed_breaks_nothing() -> None:
    not_seen = {fact.name for fact in facts_of(seen_on_aws()) if fact.held == "not seen"}
    assert broken(seen_on_aws()) == [] and not_seen == NEVER_SEEN


@pytest.mark.parametrize("name", BROKEN)
def test_an_assumption_that_does_not_hold_is_named_alone(name: str) -> None:
    seen = seen_on_aws()
    BROKEN[name](seen)
    assert broken(seen) == [name]


def test_every_assumption_that_can_be_seen_is_broken_here() -> None:
    assert {*BROKEN} | NEVER_SEEN == {one.name for one in ASSUMPTIONS}


def test_a_run_that_saw_nothing_says_of_each_why() -> None:
    facts = facts_of(Seen(unseen={"rights": "AccessDenied: iam:SimulatePrincipalPolicy"}))
    assert {fact.held for fact in facts} == {"not seen"}
    said = {fact.name: fact.seen for fact in facts}
    assert said["rights on S3"] == "AccessDenied: iam:SimulatePrincipalPolicy"
    assert said["mount"] == "the run did not come that far"


def test_what_a_stand_in_or_another_file_system_did_is_no_fact_about_aws() -> None:
    seen = seen_on_aws()
    seen.inspection["programs"] = {"mount": "/cloud/bin/mount", "setpriv": "/cloud/bin/setpriv"}
    seen.inspection["mount"] = {"type": "ext4", "options": ["rw"]}
    said = {fact.name: fact for fact in facts_of(seen)}
    for name in ("mount", "identity", "direct I/O", "exchange", "lock", "released file"):
        assert said[name].held == "not seen", name


def test_a_link_without_an_import_task_is_named() -> None:
    """Belay would wait for it until the limit of the link."""
    seen = seen_on_aws()
    seen.links["dra-2"].import_listed_at = None
    assert broken(seen) == ["import task"]


def test_an_export_that_began_before_the_rename_is_not_counted() -> None:
    seen = seen_on_aws()
    seen.exports.insert(0, export(990, 1005))
    assert broken(seen) == []


def test_an_export_that_said_that_it_failed_is_not_counted() -> None:
    seen = seen_on_aws()
    seen.exports.insert(1, export(1105, 1120).model_copy(update={"succeeded": False}))
    assert broken(seen) == []


@pytest.mark.parametrize(
    ("field", "name"), [("link_without_file_system", "error of a link"), ("fault_in_output", "fault in Output")]
)
def test_a_state_whose_role_could_not_be_assumed_says_nothing(field: str, name: str) -> None:
    seen = seen_on_aws()
    cause = "Neither the global service principal states.amazonaws.com is authorized to assume the provided role."
    setattr(seen, field, StateResult(status="FAILED", error="States.Runtime", cause=cause))
    [fact] = [fact for fact in facts_of(seen) if fact.name == name]
    assert (fact.held, fact.seen) == ("not seen", cause)


def test_a_second_task_that_was_too_late_says_nothing() -> None:
    seen = seen_on_aws()
    seen.export_beside_another_task = StateResult(status="SUCCEEDED")
    [fact] = [fact for fact in facts_of(seen) if fact.name == "error of a second task"]
    assert fact.held == "not seen"


@pytest.mark.parametrize("one", ASSUMPTIONS, ids=lambda one: one.name)
def test_an_assumption_says_where_in_the_code_it_stands(one: Assumption) -> None:
    places = [part for part in re.split(r"[;,] ", one.where) if "/" in part or part.endswith(".json")]
    missing = [place for place in places if not list(REPOSITORY.glob(f"{place.rstrip('/')}*"))]
    assert places and missing == []
