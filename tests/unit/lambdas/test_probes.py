"""The four probes: scratch_phase, link_phase, training_phase, export_phase."""

from datetime import timedelta

import pytest
from botocore.exceptions import ClientError

from belay.aws import clients
from belay.contract.errors import ServiceAway
from lambdas.teardown import export_phase
from lambdas.training import link_phase, scratch_phase, training_phase
from tools.proofs.fakes.fake import Refused
from tools.proofs.fakes.world import FILE_SYSTEM, NOW, RUN, World

# ---- scratch_phase


def test_a_file_system_that_is_ready_says_how_to_mount_it(world: World) -> None:
    world.scratch()
    assert world.ask(scratch_phase, {"file_system_id": FILE_SYSTEM}) == {
        "phase": "ready",
        "dns_name": f"{FILE_SYSTEM}.fsx.us-east-1.amazonaws.com",
        "mount_name": "abcde",
        "reason": "the file system is AVAILABLE",
    }


def test_a_file_system_that_failed_says_why(world: World) -> None:
    world.scratch(lifecycle="FAILED")
    world.fsx.file_systems[FILE_SYSTEM]["FailureDetails"] = {"Message": "no capacity in the subnet"}
    answer = world.ask(scratch_phase, {"file_system_id": FILE_SYSTEM})
    assert answer["phase"] == "failed"
    assert answer["reason"] == "the file system is FAILED: no capacity in the subnet"


def test_a_deleted_file_system_is_gone_and_one_being_deleted_is_not_yet(world: World) -> None:
    world.scratch(lifecycle="DELETING")
    assert world.ask(scratch_phase, {"file_system_id": FILE_SYSTEM})["phase"] == "pending"
    world.fsx.file_systems.clear()
    assert world.ask(scratch_phase, {"file_system_id": FILE_SYSTEM}) == {
        "phase": "gone",
        "dns_name": None,
        "mount_name": None,
        "reason": "the file system is gone",
    }


# ---- link_phase

MINUTE = timedelta(minutes=1)
IMPORT = "IMPORT_METADATA_FROM_REPOSITORY"
LINK = {"file_system_id": FILE_SYSTEM, "association_id": f"dra-{0:017x}"}


def test_a_misconfigured_link_says_what_s3_refused(world: World) -> None:
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "MISCONFIGURED", NOW, FailureDetails={"Message": "access denied to the bucket"})
    answer = world.ask(link_phase, LINK)
    assert answer == {"phase": "failed", "reason": "a link to S3 is MISCONFIGURED: access denied to the bucket"}


def test_a_link_that_failed_is_not_given_up_while_s3_is_away(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(**_: str) -> None:
        raise ClientError({"Error": {"Code": "503"}, "ResponseMetadata": {"HTTPStatusCode": 503}}, "HeadBucket")

    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "FAILED", NOW)
    monkeypatch.setattr(clients.client("s3"), "head_bucket", away)
    with pytest.raises(ServiceAway, match="503"):
        world.ask(link_phase, LINK)


def test_a_link_whose_import_is_not_listed_yet_is_waited_for(world: World) -> None:
    """FSx lists the import task some time after the association is AVAILABLE."""
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "AVAILABLE", NOW)
    # An earlier link's, another run's, and an export.
    world.fsx.add_task(FILE_SYSTEM, "SUCCEEDED", NOW - MINUTE, Type=IMPORT)
    world.scratch("fs-99999999999999999")
    world.fsx.add_task("fs-99999999999999999", "SUCCEEDED", NOW + MINUTE, Type=IMPORT)
    world.fsx.add_task(FILE_SYSTEM, "SUCCEEDED", NOW + MINUTE)
    assert world.ask(link_phase, LINK) == {
        "phase": "pending",
        "reason": "the import of names and sizes from S3 is not listed yet",
    }


def test_a_link_is_ready_when_all_that_lies_in_s3_is_seen_through_it(world: World) -> None:
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "AVAILABLE", NOW)
    # The tasks of earlier links, over several pages.
    for _ in range(3):
        world.fsx.add_task(FILE_SYSTEM, "SUCCEEDED", NOW - MINUTE, Type=IMPORT)
    world.fsx.add_task(FILE_SYSTEM, "EXECUTING", NOW + MINUTE, Type=IMPORT)
    assert world.ask(link_phase, LINK) == {
        "phase": "pending",
        "reason": "the import of names and sizes from S3 is EXECUTING",
    }
    world.fsx.tasks[3]["Lifecycle"] = "SUCCEEDED"
    assert world.ask(link_phase, LINK)["phase"] == "ready"


@pytest.mark.parametrize("lifecycle", ["FAILED", "CANCELED"])
def test_no_training_begins_on_a_part_of_its_data(world: World, lifecycle: str) -> None:
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "AVAILABLE", NOW)
    details = {"Message": "2 files could not be imported"}
    world.fsx.add_task(FILE_SYSTEM, lifecycle, NOW, Type=IMPORT, FailureDetails=details)
    assert world.ask(link_phase, LINK) == {
        "phase": "failed",
        "reason": f"the import of names and sizes from S3 is {lifecycle}: 2 files could not be imported",
    }


def test_the_import_of_a_link_that_failed_and_was_made_again_does_not_count(world: World) -> None:
    world.scratch()
    world.fsx.add_task(FILE_SYSTEM, "FAILED", NOW - MINUTE, Type=IMPORT)
    world.fsx.add_link(FILE_SYSTEM, "AVAILABLE", NOW)
    world.fsx.add_task(FILE_SYSTEM, "SUCCEEDED", NOW, Type=IMPORT)
    assert world.ask(link_phase, LINK)["phase"] == "ready"


def test_a_link_that_is_removed_is_gone(world: World) -> None:
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "DELETING", NOW)
    assert world.ask(link_phase, LINK)["phase"] == "pending"
    world.fsx.links.clear()
    assert world.ask(link_phase, LINK) == {"phase": "gone", "reason": "the link to S3 is gone"}


def test_a_refusal_that_says_nothing_about_the_link_is_an_error(world: World) -> None:
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "AVAILABLE", NOW)
    world.fsx.broken[FILE_SYSTEM] = Refused("InternalServerError")
    with pytest.raises(ClientError):
        world.ask(link_phase, LINK)


# ---- training_phase


def test_a_task_that_was_told_to_stop_is_alive_until_it_has_stopped(world: World) -> None:
    """ECS lists it under desiredStatus STOPPED at once, while it may save for two more minutes."""
    arn = world.ecs.add("one", run=RUN, desired="STOPPED", last="RUNNING")
    answer = world.ask(training_phase, {"run": RUN})
    assert (answer["phase"], answer["tasks"]) == ("ready", [arn])
    world.ecs.tasks[arn]["lastStatus"] = "STOPPED"
    assert world.ask(training_phase, {"run": RUN}) == {
        "phase": "gone",
        "tasks": [],
        "reason": "no training task is alive",
    }


def test_a_task_that_waits_for_an_instance_is_pending(world: World) -> None:
    world.ecs.add("one", run=RUN, last="PROVISIONING")
    assert world.ask(training_phase, {"run": RUN})["phase"] == "pending"


def test_a_run_sees_no_task_of_another_even_on_later_pages(world: World) -> None:
    for number in range(4):
        world.ecs.add(f"other-{number}", run=f"{RUN[:-1]}x")
    mine = world.ecs.add("mine", run=RUN, last="PENDING")
    assert world.ask(training_phase, {"run": RUN})["tasks"] == [mine]


def test_one_attempt_can_be_asked_about_alone(world: World) -> None:
    world.ecs.add("first", run=RUN, attempt=1, desired="STOPPED", last="STOPPING")
    second = world.ecs.add("second", run=RUN, attempt=2, last="PROVISIONING")
    answer = world.ask(training_phase, {"run": RUN, "attempt": 2})
    assert (answer["phase"], answer["tasks"]) == ("pending", [second])
    # Of the whole run: one may still write, the other waits for an instance.
    assert len(world.ask(training_phase, {"run": RUN})["tasks"]) == 2


def test_training_is_ready_when_as_many_nodes_as_expected_have_an_instance(world: World) -> None:
    question = {"run": RUN, "attempt": 1, "expected": 2}
    assert world.ask(training_phase, question)["phase"] == "pending", "not listed yet"
    world.ecs.add("one", run=RUN, node=0)
    assert world.ask(training_phase, question)["phase"] == "pending"
    world.ecs.add("two", run=RUN, node=1)
    assert world.ask(training_phase, question)["phase"] == "ready"


# ---- export_phase


def test_a_finished_export_is_ready_and_a_failed_one_says_why(world: World) -> None:
    done = world.fsx.add_task(FILE_SYSTEM, "SUCCEEDED", NOW)
    broken = world.fsx.add_task(FILE_SYSTEM, "FAILED", NOW, FailureDetails={"Message": "invalid path"})
    assert world.ask(export_phase, {"task_id": done}) == {"phase": "ready", "reason": "the export task is SUCCEEDED"}
    assert world.ask(export_phase, {"task_id": broken}) == {
        "phase": "failed",
        "reason": "the export task is FAILED: invalid path",
    }


def test_an_export_that_fsx_has_forgotten_is_gone(world: World) -> None:
    assert world.ask(export_phase, {"task_id": "task-00000000000000009"})["phase"] == "gone"
