"""Every broken promise of a run is found; page and picture show each cell's outcome."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from belay.contract.certificate import Certificate, FileSystemEnd
from belay.contract.events import Finished, Removed, Saved
from belay.contract.verdict import Durability, Training, Verdict
from tools.local_cloud.faults import StateFails
from tools.proofs.chaos import page, picture, record
from tools.proofs.chaos.cells import Cell, of_state, of_training
from tools.proofs.chaos.machines import State, states_of
from tools.proofs.chaos.outcome import Outcome, broken_promises

AT = datetime(2026, 11, 21, tzinfo=UTC)
LAMBDA = "arn:aws:states:::lambda:invoke"
ARN = "arn:aws:states:us-east-1:123456789012:execution:belay-train:one"


def saved(step: int) -> Saved:
    more: dict[str, Any] = {"path": "p", "files": 1, "bytes": 1, "stall_seconds": 0, "durable_seconds": 0}
    return Saved(at=AT, run="r", attempt=1, step=step, manifest_crc64nvme="x", **more)


def certificate(training: Training, durability: Durability, step: int | None) -> Certificate:
    verdict = Verdict(training=training, durability=durability, reason="x", last_verified_step=step, where="s3://b/p")
    end = FileSystemEnd(id="fs-1", fate="kept" if durability is Durability.KEPT else "deleted")
    return Certificate(
        run="r",
        job="j",
        execution_arn=ARN,
        started_at=AT,
        certified_at=AT,
        verdict=verdict,
        sentence=verdict.sentence,
        checkpoints=[],
        file_system=end,
    )


GOOD = Outcome(
    status="SUCCEEDED",
    error="",
    certificate=certificate(Training.COMPLETED, Durability.VERIFIED, 4),
    events=[
        saved(2),
        saved(4),
        Removed(at=AT, run="r", attempt=1, step=2),
        Finished(at=AT, run="r", attempt=1, step=4),
    ],
    whole=frozenset({4}),
    file_systems=[],
    tasks=0,
    accepted=True,
    injected=True,
    kept=False,
    seconds=1.0,
)


def test_a_good_run_keeps_every_promise() -> None:
    assert broken_promises(GOOD) == []


@pytest.mark.parametrize(
    ("changes", "broken"),
    [
        ({"whole": frozenset()}, "1: saved at [4], deleted, and not whole in S3"),
        ({"file_systems": ["fs-1"]}, "2: its file system is left behind"),
        ({"tasks": 1}, "2: its task is left behind"),
        ({"certificate": None}, "3: no certificate"),
        (
            {"status": "FAILED", "error": "States.QueryEvaluationError"},
            "3: training completed, and the execution failed as States.QueryEvaluationError",
        ),
        ({"events": [saved(4)]}, "3: the execution succeeded, and training or its checkpoints did not"),
        ({"events": [saved(4)]}, "3: certified as completed, but training did not finish"),
        (
            {"certificate": certificate(Training.COMPLETED, Durability.NOTHING_SAVED, None)},
            "3: certified as nothing saved, but something was",
        ),
        (
            {"certificate": certificate(Training.COMPLETED, Durability.LOST, 4)},
            "3: certified as lost, but everything is in S3",
        ),
        (
            {"certificate": certificate(Training.COMPLETED, Durability.KEPT, 4)},
            "3: certified as kept, but the file system is gone",
        ),
        (
            {"certificate": certificate(Training.COMPLETED, Durability.VERIFIED, 6)},
            "3: step 6 is certified, but not whole in S3",
        ),
    ],
)
def test_a_broken_promise_is_named(changes: dict[str, Any], broken: str) -> None:
    assert broken in broken_promises(replace(GOOD, **changes))


def test_a_refused_job_needs_no_certificate() -> None:
    refused = replace(GOOD, status="FAILED", error="JobRefused", certificate=None, events=[], accepted=False)
    assert broken_promises(refused) == []


def test_every_state_is_found_also_inside_maps_and_branches_with_the_errors_that_it_names() -> None:
    retries = '[{"ErrorEquals": ["Busy"]}, {"ErrorEquals": ["States.ALL"]}]'
    call = f'{{"Type": "Task", "Resource": "r", "Retry": {retries}, "End": true}}'
    inner = '{"StartAt": "B", "States": {"B": {"Type": "Pass", "End": true}}}'
    each = f'{{"Type": "Map", "ItemProcessor": {inner}, "End": true}}'
    flow = f'{{"StartAt": "A", "States": {{"A": {call}, "M": {each}}}}}'
    assert states_of(flow) == [State("A", "r", ("Busy",)), State("M", "", ()), State("B", "", ())]


def test_a_state_that_calls_nothing_can_only_be_stopped_at() -> None:
    assert [cell.fault for cell in of_state("Train", State("Link: wait", "", ()))] == ["StopExecution"]
    faults = [cell.fault for cell in of_state("Teardown", State("Verify", LAMBDA, ("Busy",)))]
    assert {"throttled once", "times out each time", "reply lost once", "Busy once"} < set(faults)


def test_faults_are_limited_to_one_run() -> None:
    cells = [*of_training(), *of_state("Train", State("Accept job", LAMBDA, ()))]
    assert all(fault.where for cell in cells for fault in cell.faults_for(ARN))
    [train] = Cell("Train", "s", "f", faults=(StateFails(state="s", error="E"),)).faults_for(ARN)
    [teardown] = Cell("Teardown", "s", "f", faults=(StateFails(state="s", error="E"),)).faults_for(ARN)
    assert (train.where, teardown.where) == ({"execution": ARN}, {"execution_arn": ARN})


def test_the_page_and_the_picture_show_what_was_seen() -> None:
    cell = Cell("Train", "Accept <job>", "fails for good")
    good = record.row_of(cell, GOOD)
    bad = record.row_of(replace(cell, fault="StopExecution"), replace(GOOD, broken=["2: its task is left behind"]))
    missed = record.row_of(replace(cell, fault="throttled once"), replace(GOOD, injected=False))
    written = page.page([good, bad, missed], cells=5)
    assert "**1 of 2 cells hold**; in 1 more" in written
    assert "2 of the grid's 5 cells were not run" in written
    assert "- Train: Accept <job>: StopExecution: 2: its task is left behind" in written
    drawn = picture.picture([good, bad, missed])
    assert [drawn.count(f'class="{kind}"') for kind in ("verified", "broken", "unreached")] == [2, 2, 2]
    assert "Accept &lt;job&gt;" in drawn


def test_a_row_outlives_the_process_that_wrote_it(tmp_path: Any) -> None:
    row = record.row_of(Cell("Train", "s", "f"), GOOD)
    for path in [tmp_path / "rows.jsonl"] * 2:
        record.append(path, row)
    assert record.in_order(record.read(path), [Cell("Train", "s", "f")]) == [row]
