import boto3
import pytest

from lambdas.sense import phases
from lambdas.sense.phases import Phase, Reading

# ECS documents its words in prose alone; these are all of its task lifecycle.
ECS_TASK_STATES = {
    *("PROVISIONING", "PENDING", "ACTIVATING", "RUNNING", "DEACTIVATING"),
    *("STOPPING", "DEPROVISIONING", "STOPPED", "DELETED"),
}


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ("FileSystemLifecycle", phases.FILE_SYSTEM),
        ("DataRepositoryLifecycle", phases.LINK),
        ("DataRepositoryTaskLifecycle", phases.EXPORT),
    ],
)
def test_every_lifecycle_in_the_fsx_model_has_its_word_and_no_other_has(shape: str, words: dict[str, Phase]) -> None:
    model = boto3.client("fsx", region_name="us-east-1").meta.service_model
    assert set(words) == set(model.shape_for(shape).enum)


def test_every_state_of_an_ecs_task_has_its_word() -> None:
    assert set(phases.TASK) == ECS_TASK_STATES


@pytest.mark.parametrize("read", [phases.of_file_system, phases.of_link, phases.of_export, phases.of_task])
def test_a_lifecycle_that_aws_adds_later_is_a_failure_that_names_it(read: type) -> None:
    reading = read("HIBERNATING")
    assert reading.phase is Phase.FAILED
    assert "'HIBERNATING', a state that Belay does not know" in reading.reason


def test_only_a_stopped_task_is_gone_since_one_on_its_way_out_may_be_saving() -> None:
    assert {state for state, phase in phases.TASK.items() if phase is Phase.GONE} == {"STOPPED", "DELETED"}


def test_a_file_system_is_never_gone_while_fsx_still_lists_it() -> None:
    assert Phase.GONE not in phases.FILE_SYSTEM.values()


def _links(*words: str) -> list[Reading]:
    return [phases.of_link(word) for word in words]


@pytest.mark.parametrize(
    ("links", "expected", "phase"),
    [
        ((), 2, "pending"),
        (("AVAILABLE",), 2, "pending"),
        (("AVAILABLE", "CREATING"), 2, "pending"),
        (("AVAILABLE", "AVAILABLE"), 2, "ready"),
        (("AVAILABLE", "AVAILABLE", "AVAILABLE"), 2, "ready"),
        (("AVAILABLE", "AVAILABLE", "CREATING"), 2, "pending"),
        (("AVAILABLE", "MISCONFIGURED"), 2, "failed"),
        (("CREATING", "FAILED"), 3, "failed"),
        (("AVAILABLE", "DELETING"), 2, "gone"),
        (("DELETING", "FAILED"), 2, "failed"),
    ],
)
def test_links_are_ready_only_together(links: tuple[str, ...], expected: int, phase: str) -> None:
    assert phases.of_links(_links(*links), expected=expected).phase == phase


@pytest.mark.parametrize(
    ("tasks", "phase"),
    [
        ((), "gone"),
        (("STOPPED",), "gone"),
        (("STOPPED", "PROVISIONING"), "pending"),
        (("PROVISIONING", "RUNNING"), "ready"),
        (("STOPPED", "DEPROVISIONING"), "ready"),
        (("RUNNING", "ASLEEP"), "failed"),
    ],
)
def test_a_run_has_ended_only_when_all_its_tasks_have(tasks: tuple[str, ...], phase: str) -> None:
    assert phases.of_tasks([phases.of_task(task) for task in tasks]).phase == phase
