"""Faults go to the server as JSON, happen only where their labels match, and as often as they say."""

from __future__ import annotations

import pytest

from tools.local_cloud.faults import (
    ApiError,
    EventDelivery,
    ExportFails,
    ExportListedLate,
    Fault,
    FaultRegistry,
    KillTraining,
    NoCapacity,
    SpotInterruption,
    StateFails,
    StopsAt,
    TagsAppearLate,
    TaskSeenLate,
)


@pytest.mark.parametrize(
    "fault",
    [
        KillTraining(at_step=40, where={"belay:job": "a"}),
        ExportFails(how="skipped", times=2),
        SpotInterruption(at_step=7),
        NoCapacity(),
        StateFails(state="Export to S3", error="States.Timeout", after=True, times=1, where={"execution": "arn"}),
        StopsAt(state="Verify"),
        TagsAppearLate(seconds=20, where={"belay:job": "a"}),
        ExportListedLate(),
        TaskSeenLate(seconds=20),
        EventDelivery(how="late", seconds=900, where={"status": "ABORTED"}),
        ApiError(service="fsx", action="CreateFileSystem", error="ServiceLimitExceeded", times=1),
    ],
)
def test_a_fault_survives_a_round_trip_through_json(fault: Fault) -> None:
    assert Fault.from_json(fault.to_json()) == fault


def test_an_unknown_fault_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'Earthquake' is not a fault; use one of ApiError, EventDelivery"):
        Fault.from_json({"kind": "Earthquake"})


def test_an_api_error_for_one_job_only_is_refused() -> None:
    with pytest.raises(ValueError, match="where: an API error"):
        ApiError(service="fsx", action="CreateFileSystem", where={"belay:job": "a"})


def test_a_fault_happens_as_often_as_it_says() -> None:
    registry = FaultRegistry()
    registry.add(ExportFails(times=2))
    assert [registry.take(ExportFails, {}) is not None for _ in range(3)] == [True, True, False]


def test_a_fault_without_a_number_happens_until_it_is_cleared() -> None:
    registry = FaultRegistry()
    registry.add(ExportFails())
    assert all(registry.take(ExportFails, {}) for _ in range(5))
    registry.clear()
    assert registry.take(ExportFails, {}) is None


def test_the_faults_of_one_run_are_cleared_and_the_others_stay() -> None:
    registry = FaultRegistry()
    mine, other = ExportFails(where={"belay:job": "a"}), ExportFails(where={"belay:job": "b"})
    for fault in (mine, other):
        registry.add(fault)
    registry.clear({"belay:job": "a"})
    assert registry.waiting() == [other]


def test_a_fault_happens_only_where_its_labels_match() -> None:
    registry = FaultRegistry()
    registry.add(NoCapacity(where={"belay:job": "a"}))
    assert registry.find(NoCapacity, {"belay:job": "b"}) is None
    assert registry.find(ExportFails, {"belay:job": "a"}) is None
    assert registry.find(NoCapacity, {"belay:job": "a", "more": "x"}) is not None
