"""What a run of several nodes came to: how it ended, what its log holds, what was lost. One node is one of them."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from belay.contract.events import Failed, Finished, Host, Resumed, Saved, Started, Step
from belay.contract.ledger import Ledger, LedgerEntry
from belay.contract.verdict import Ending, Training
from belay.policy import judging, work_lost
from belay.policy.judging import NodeEnd
from belay.policy.trainer_log import Line, TrainerLog, lines_of_run

RUN = "20261121t024455z-3f9a2c1b"
START = datetime(2026, 11, 21, 2, 44, 55, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def end(node: int, outcome: Training, seconds: float | None, reason: str = "why") -> NodeEnd:
    return NodeEnd(node, Ending(outcome=outcome, reason=reason), None if seconds is None else at(seconds))


def task(stop_code: str, stopped: str, *, exit_code: int | None, stopping: float) -> str:
    """The cause that Step Functions gives; it counts milliseconds."""
    milliseconds = int(at(stopping).timestamp() * 1000)
    container = {"Name": "trainer"} | ({} if exit_code is None else {"ExitCode": exit_code})
    return json.dumps(
        {
            "StopCode": stop_code,
            "StoppedReason": stopped,
            "StoppingAt": milliseconds,
            "StoppedAt": milliseconds + 90_000,
            "Containers": [container],
        }
    )


CRASH, STOP = Training.CRASHED, Training.STOPPED


@pytest.mark.parametrize(
    ("ends", "outcome", "reason"),
    [
        ([], "Crashed", "how it ended is not on record"),
        ([end(0, Training.COMPLETED, 9)], "Completed", "why"),
        ([end(0, CRASH, 9)], "Crashed", "why"),
        ([end(0, Training.COMPLETED, 9), end(1, Training.COMPLETED, 8)], "Completed", "why"),
        # One that completed does not make up for one that did not.
        ([end(0, Training.COMPLETED, 9), end(1, CRASH, 10)], "Crashed", "node 1: why"),
        # A crash, and the others were told to stop.
        ([end(0, STOP, 12), end(1, CRASH, 10), end(2, STOP, 12)], "Crashed", "node 1: why"),
        # A Spot instance goes; the others crash because it does not answer.
        ([end(0, CRASH, 11), end(1, Training.INTERRUPTED, 10), end(2, CRASH, 12)], "Interrupted", "node 1: why"),
        # A person stopped one task; the others crash because of that.
        ([end(0, CRASH, 12), end(1, CRASH, 12), end(2, STOP, 10)], "Stopped", "node 2: why"),
        ([end(0, STOP, 10), end(1, STOP, 10), end(2, STOP, 10)], "Stopped", "node 0: why"),
        # Where no time says which was first, nobody stops a training that does not fail.
        ([end(0, STOP, None), end(1, CRASH, None)], "Crashed", "node 1: why"),
        ([end(0, STOP, 10), end(1, Training.TIME_SPENT, 10)], "TimeSpent", "node 1: why"),
        ([end(0, CRASH, None), end(1, Training.INTERRUPTED, 10)], "Interrupted", "node 1: why"),
    ],
)
def test_the_first_to_fail_explains_the_others(ends: list[NodeEnd], outcome: str, reason: str) -> None:
    ending = judging.of_nodes(ends)
    assert (ending.outcome, ending.reason) == (outcome, reason)


def test_when_a_task_began_to_end_is_read_from_the_task() -> None:
    crashed = task("EssentialContainerExited", "", exit_code=1, stopping=10)
    told_to_stop = task("UserInitiated", "a node failed", exit_code=143, stopping=11)
    ends = [judging.of_node(node, "States.TaskFailed", cause) for node, cause in enumerate((told_to_stop, crashed))]
    assert [one.at for one in ends] == [at(11), at(10)]
    assert judging.of_nodes(ends) == Ending(outcome=CRASH, reason="node 1: exit code 1")


@pytest.mark.parametrize("moment", [None, "soon", True, 1e300, -(10**20), float("nan"), [1]])
def test_a_moment_that_is_none_is_not_known(moment: Any) -> None:
    cause = json.dumps({"StopCode": "UserInitiated", "StoppingAt": moment, "Containers": []})
    assert judging.of_node(0, "States.TaskFailed", cause).at is None


ENDS = st.lists(st.tuples(st.sampled_from(Training), st.none() | st.integers(0, 5)), min_size=1, max_size=5).map(
    lambda told: [end(node, outcome, seconds) for node, (outcome, seconds) in enumerate(told)]
)


@settings(deadline=None)
@given(ends=ENDS, data=st.data())
def test_neither_their_order_nor_which_node_is_which_changes_the_outcome(
    ends: list[NodeEnd], data: st.DataObject
) -> None:
    names = data.draw(st.permutations(range(len(ends))))
    others = data.draw(st.permutations([NodeEnd(names[one.node], one.ending, one.at) for one in ends]))
    assert judging.of_nodes(others).outcome is judging.of_nodes(ends).outcome


@settings(deadline=None)
@given(outcome=st.sampled_from(Training), seconds=st.none() | st.integers(0, 5), nodes=st.integers(1, 4))
def test_nodes_that_ended_alike_ended_as_one_would_have(outcome: Training, seconds: int | None, nodes: int) -> None:
    one = judging.of_nodes([end(0, outcome, seconds)])
    assert one == end(0, outcome, seconds).ending
    assert judging.of_nodes([end(node, outcome, seconds) for node in range(nodes)]).outcome is one.outcome


@settings(deadline=None)
@given(ends=ENDS)
def test_it_completed_only_where_every_node_did(ends: list[NodeEnd]) -> None:
    completed = [one.ending.outcome is Training.COMPLETED for one in ends]
    assert (judging.of_nodes(ends).outcome is Training.COMPLETED) == all(completed)


# ---- the log


def started(node: int, seconds: float, attempt: int = 1, run: str = RUN) -> Started:
    return Started(at=at(seconds), run=run, node=node, attempt=attempt, job="digits", processes=1)


def saved(step: int, seconds: float, *, node: int = 0, attempt: int = 1) -> Saved:
    told = {"path": "p", "files": 1, "bytes": 1, "stall_seconds": 0.0, "durable_seconds": 0.0}
    return Saved(at=at(seconds), run=RUN, node=node, attempt=attempt, step=step, manifest_crc64nvme=f"m{step}", **told)  # type: ignore[arg-type]


def log_of(*events: Any) -> TrainerLog:
    return TrainerLog("log", [Line(event.line(), event) for event in sorted(events, key=lambda one: one.at)])


def test_a_stream_is_one_attempt_of_one_node_and_no_other_speaks_in_it() -> None:
    other_run = "20261121t024455z-00000000"
    raws = [
        ("a", started(0, 0).line()),
        ("b", started(1, 0).line()),
        ("b", started(0, 1).line()),
        ("c", started(1, 5, attempt=2).line()),
        ("d", started(0, 0, run=other_run).line()),
        ("a", saved(10, 2).line()),
        ("b", saved(10, 2).line()),
        ("c", saved(10, 2, node=1, attempt=1).line()),
        ("d", saved(10, 2).line()),
        ("a", "loss: 0.1"),
        ("e", saved(20, 3).line()),
    ]
    own = lines_of_run(raws, RUN)
    assert own == [raws[0], raws[1], raws[3], raws[5], raws[9]]


def test_lines_of_earlier_versions_name_no_node_and_are_of_the_only_one() -> None:
    def as_before(event: Any) -> str:
        return json.dumps({name: value for name, value in json.loads(event.line()).items() if name != "node"})

    raws = [("a", as_before(started(0, 0))), ("a", as_before(saved(10, 1)))]
    assert lines_of_run(raws, RUN) == raws


def test_a_run_has_finished_when_each_node_has() -> None:
    def finished(node: int, seconds: float, attempt: int = 1) -> Finished:
        return Finished(at=at(seconds), run=RUN, node=node, attempt=attempt, step=9)

    crash = Failed(at=at(5), run=RUN, node=1, attempt=1, exit_code=1, reason="boom")
    one = log_of(started(0, 0), started(1, 0), finished(0, 9))
    assert not one.finished
    assert not log_of(*(line.event for line in one.lines), crash).finished
    again = log_of(*(line.event for line in one.lines), crash, started(1, 6, attempt=2), finished(1, 9, attempt=2))
    assert again.finished
    assert again.attempts_of_node == {0: 1, 1: 2}


def test_the_host_of_a_node_is_that_of_its_last_attempt() -> None:
    old, new = Host(kernel="6.1.1", ami="ami-1"), Host(kernel="6.1.2", ami="ami-2")
    log = log_of(
        started(0, 0).model_copy(update={"host": old}),
        started(1, 0),
        started(0, 9, attempt=2).model_copy(update={"host": new}),
    )
    assert log.host_of_node == {0: new}


# ---- what was lost


def _lost(events: list[Any], verified: int | None) -> Any:
    log, steps = log_of(*(one for one in events if not isinstance(one, Step))), [e for e in events if e.kind == "step"]
    ledger = Ledger(run=RUN)
    if verified:
        proven = LedgerEntry(step=verified, written_at=at(verified), manifest_crc64nvme=f"m{verified}")
        ledger.entries.append(proven.model_copy(update={"verified_at": at(90)}))
    return work_lost.lost(work_lost.held(ledger, log), work_lost.reached(log, steps), 36.0)


def _node(node: int, *, crash: int, resume: int, last: int) -> list[Any]:
    """A step a second; it crashes and goes on from a checkpoint. Node 0 announces the saves."""

    def step(number: int, seconds: int, attempt: int) -> Step:
        return Step(at=at(seconds), run=RUN, node=node, attempt=attempt, step=number, total_steps=99)

    resumed = Resumed(at=at(crash + 1), run=RUN, node=node, attempt=2, step=resume, source="s")
    return [
        started(node, 0),
        *(step(number, number, 1) for number in range(1, crash)),
        *([saved(resume, resume)] if node == 0 else []),
        started(node, crash, attempt=2),
        resumed,
        *(step(number, crash + 1 + number - resume, 2) for number in range(resume + 1, last + 1)),
    ]


RUNS = st.tuples(st.integers(2, 9), st.integers(1, 8), st.integers(1, 9)).map(
    lambda told: {"resume": min(told[1], told[0] - 1), "crash": told[0], "last": told[0] + told[2]}
)


@settings(deadline=None)
@given(run=RUNS, nodes=st.integers(1, 3), is_verified=st.booleans())
def test_nodes_that_did_the_same_lost_what_one_would_have(run: dict[str, int], nodes: int, is_verified: bool) -> None:
    verified = run["resume"] if is_verified else None
    one = _lost(_node(0, **run), verified)
    assert _lost([event for node in range(nodes) for event in _node(node, **run)], verified) == one


def test_a_node_that_starts_late_does_not_begin_the_run_again() -> None:
    """Node 1 has not resumed yet when all that node 0 did since is lost."""
    events = [*_node(0, crash=9, resume=5, last=20), started(1, 11, attempt=2)]
    lost = _lost(events, None)
    assert (lost.steps, lost.minutes) == (20, 0.4), "nothing is proven: all 25 seconds since the first beginning"
    assert _lost(events, 5).steps == 15
