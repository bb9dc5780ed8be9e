"""One word for all the tasks of a run, whatever its number of nodes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belay.contract.messages.probes import Phase
from belay.policy import ecs_words
from belay.policy.training_tasks import TrainingTask, reading_of


def task(node: int, lifecycle: str, attempt: int = 1) -> TrainingTask:
    return TrainingTask(f"{node}-{attempt}", node, attempt, ecs_words.reading_of(lifecycle))


@pytest.mark.parametrize(
    ("lifecycles", "expected", "phase"),
    [
        ((), 1, "gone"),
        (("STOPPED",), 1, "gone"),
        (("RUNNING",), 1, "ready"),
        (("DEPROVISIONING",), 1, "ready"),
        (("PROVISIONING",), 1, "pending"),
        # One that is ready says nothing of the other.
        (("PROVISIONING", "RUNNING"), 2, "pending"),
        (("RUNNING",), 2, "pending"),
        (("RUNNING", "STOPPED"), 2, "pending"),
        (("RUNNING", "RUNNING"), 2, "ready"),
        (("RUNNING", "RUNNING", "PENDING"), 3, "pending"),
        # A task that is on its way out may still save.
        (("STOPPED", "STOPPED", "STOPPING"), 1, "ready"),
        (("STOPPED", "STOPPED"), 2, "gone"),
        ((), 2, "gone"),
        (("RUNNING", "ASLEEP"), 2, "failed"),
    ],
)
def test_tasks_are_ready_only_together_and_gone_only_together(
    lifecycles: tuple[str, ...], expected: int, phase: str
) -> None:
    tasks = [task(node, lifecycle) for node, lifecycle in enumerate(lifecycles)]
    assert reading_of(tasks, expected=expected).phase == phase


def test_two_tasks_of_one_node_are_not_two_nodes() -> None:
    tasks = [task(0, "STOPPING", attempt=1), task(0, "RUNNING", attempt=2)]
    assert reading_of(tasks, expected=2).phase is Phase.PENDING
    assert reading_of(tasks, expected=2).reason == "1 of 2 nodes have a training task that is ready"


tasks_of_a_run = st.lists(
    st.builds(task, st.integers(0, 4), st.sampled_from([*ecs_words.TASK, "ASLEEP"]), st.integers(1, 3)), max_size=8
)


@settings(deadline=None)
@given(tasks=tasks_of_a_run, expected=st.integers(1, 4), data=st.data())
def test_neither_their_order_nor_which_node_is_which_changes_anything(
    tasks: list[TrainingTask], expected: int, data: st.DataObject
) -> None:
    renamed = data.draw(st.permutations(range(5)))
    others = [TrainingTask(one.id, renamed[one.node], one.attempt, one.reading) for one in tasks]
    again = data.draw(st.permutations(others))
    assert reading_of(again, expected=expected).phase is reading_of(tasks, expected=expected).phase


@settings(deadline=None)
@given(tasks=tasks_of_a_run, expected=st.integers(1, 4))
def test_gone_means_that_nothing_can_write_any_more(tasks: list[TrainingTask], expected: int) -> None:
    is_gone = reading_of(tasks, expected=expected).phase is Phase.GONE
    assert is_gone == (not any(one.may_write for one in tasks))
