import boto3
import pytest

from belay.contract.messages.probes import Phase
from belay.policy import ecs_words, phases

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
    assert set(ecs_words.TASK) == ECS_TASK_STATES


@pytest.mark.parametrize("read", [phases.of_file_system, phases.of_link, phases.of_export, ecs_words.reading_of])
def test_a_lifecycle_that_aws_adds_later_is_a_failure_that_names_it(read: type) -> None:
    reading = read("HIBERNATING")
    assert reading.phase is Phase.FAILED
    assert "'HIBERNATING', a state that Belay does not know" in reading.reason


def test_only_a_stopped_task_is_gone_since_one_on_its_way_out_may_be_saving() -> None:
    assert {state for state, phase in ecs_words.TASK.items() if phase is Phase.GONE} == {"STOPPED", "DELETED"}


def test_a_file_system_is_never_gone_while_fsx_still_lists_it() -> None:
    assert Phase.GONE not in phases.FILE_SYSTEM.values()


@pytest.mark.parametrize(
    ("link", "imports", "phase"),
    [
        ("CREATING", ("SUCCEEDED",), "pending"),
        ("AVAILABLE", (), "pending"),
        ("AVAILABLE", ("PENDING",), "pending"),
        ("AVAILABLE", ("SUCCEEDED",), "ready"),
        ("AVAILABLE", ("SUCCEEDED", "FAILED"), "failed"),
        ("AVAILABLE", ("EXECUTING", "CANCELED"), "failed"),
        ("MISCONFIGURED", ("SUCCEEDED",), "failed"),
        ("DELETING", ("SUCCEEDED",), "pending"),
    ],
)
def test_a_link_is_ready_only_with_its_import(link: str, imports: tuple[str, ...], phase: str) -> None:
    tasks = [phases.of_import(one) for one in imports]
    assert phases.of_linked(phases.of_link(link), tasks).phase == phase
