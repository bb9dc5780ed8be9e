"""The four probes: scratch_phase, links_phase, training_phase, export_phase."""

import pytest
from botocore.exceptions import ClientError

from lambdas import export_phase, links_phase, scratch_phase, training_phase
from tests.lambdas.fake import Refused
from tests.lambdas.world import FILE_SYSTEM, NOW, RUN, World

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


# ---- links_phase


def test_links_are_counted_over_all_pages(world: World) -> None:
    world.scratch()
    world.scratch("fs-99999999999999999")
    for _ in range(3):
        world.fsx.add_link(FILE_SYSTEM, "AVAILABLE")
    world.fsx.add_link("fs-99999999999999999", "FAILED")
    assert world.ask(links_phase, {"file_system_id": FILE_SYSTEM, "expected": 3})["phase"] == "ready"
    assert world.ask(links_phase, {"file_system_id": FILE_SYSTEM, "expected": 4})["phase"] == "pending"


def test_a_misconfigured_link_says_what_s3_refused(world: World) -> None:
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "MISCONFIGURED", FailureDetails={"Message": "access denied to the bucket"})
    answer = world.ask(links_phase, {"file_system_id": FILE_SYSTEM, "expected": 1})
    assert answer == {"phase": "failed", "reason": "a link to S3 is MISCONFIGURED: access denied to the bucket"}


def test_links_are_ready_when_all_that_lies_in_s3_is_seen_through_them(world: World) -> None:
    """FSx brings its names and sizes in by tasks, which it runs when the links are there already."""
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "AVAILABLE")
    for lifecycle in ("SUCCEEDED", "SUCCEEDED", "EXECUTING"):
        world.fsx.add_task(FILE_SYSTEM, lifecycle, NOW, Type="IMPORT_METADATA_FROM_REPOSITORY")
    # Another run's.
    world.scratch("fs-99999999999999999")
    world.fsx.add_task("fs-99999999999999999", "FAILED", NOW, Type="IMPORT_METADATA_FROM_REPOSITORY")
    question = {"file_system_id": FILE_SYSTEM, "expected": 1}
    assert world.ask(links_phase, question) == {
        "phase": "pending",
        "reason": "the import of names and sizes from S3 is EXECUTING",
    }
    world.fsx.tasks[2]["Lifecycle"] = "SUCCEEDED"
    assert world.ask(links_phase, question)["phase"] == "ready"


@pytest.mark.parametrize("lifecycle", ["FAILED", "CANCELED"])
def test_no_training_begins_on_a_part_of_its_data(world: World, lifecycle: str) -> None:
    world.scratch()
    world.fsx.add_link(FILE_SYSTEM, "AVAILABLE")
    world.fsx.add_task(FILE_SYSTEM, "PENDING", NOW, Type="IMPORT_METADATA_FROM_REPOSITORY")
    details = {"Message": "2 files could not be imported"}
    world.fsx.add_task(FILE_SYSTEM, lifecycle, NOW, Type="IMPORT_METADATA_FROM_REPOSITORY", FailureDetails=details)
    assert world.ask(links_phase, {"file_system_id": FILE_SYSTEM, "expected": 1}) == {
        "phase": "failed",
        "reason": f"the import of names and sizes from S3 is {lifecycle}: 2 files could not be imported",
    }


def test_without_its_file_system_no_link_is_waited_for(world: World) -> None:
    assert world.ask(links_phase, {"file_system_id": FILE_SYSTEM, "expected": 2})["phase"] == "gone"


def test_a_refusal_that_says_nothing_about_the_links_is_an_error(world: World) -> None:
    world.scratch()
    world.fsx.broken[FILE_SYSTEM] = Refused("InternalServerError")
    with pytest.raises(ClientError):
        world.ask(links_phase, {"file_system_id": FILE_SYSTEM, "expected": 2})


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
    assert world.ask(training_phase, {"run": RUN})["phase"] == "ready"


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
