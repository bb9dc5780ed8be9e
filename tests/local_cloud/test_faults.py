"""Faults travel to the server as JSON, strike whom they concern, and are used up."""

from __future__ import annotations

import pytest

from local_cloud.faults import (
    ApiError,
    ExportFails,
    Fault,
    FaultBook,
    KillTraining,
    NoCapacity,
    SpotInterruption,
    StateFails,
    StopsAt,
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
        ApiError(service="fsx", action="CreateFileSystem", error="ServiceLimitExceeded", times=1),
    ],
)
def test_a_fault_is_the_same_after_its_journey(fault: Fault) -> None:
    assert Fault.from_json(fault.to_json()) == fault


def test_an_unknown_fault_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'Earthquake' is not a fault; use one of ApiError, ExportFails"):
        Fault.from_json({"kind": "Earthquake"})


def test_an_api_error_for_one_job_only_is_refused() -> None:
    with pytest.raises(ValueError, match="where: an API error"):
        ApiError(service="fsx", action="CreateFileSystem", where={"belay:job": "a"})


def test_a_fault_happens_as_often_as_it_says() -> None:
    book = FaultBook()
    book.add(ExportFails(times=2))
    assert [book.take(ExportFails, {}) is not None for _ in range(3)] == [True, True, False]


def test_a_fault_without_a_number_happens_until_it_is_cleared() -> None:
    book = FaultBook()
    book.add(ExportFails())
    assert all(book.take(ExportFails, {}) for _ in range(5))
    book.clear()
    assert book.take(ExportFails, {}) is None


def test_the_faults_of_one_run_are_mended_and_the_others_stay() -> None:
    book = FaultBook()
    mine, other = ExportFails(where={"belay:job": "a"}), ExportFails(where={"belay:job": "b"})
    for fault in (mine, other):
        book.add(fault)
    book.clear({"belay:job": "a"})
    assert book.waiting() == [other]


def test_a_fault_strikes_only_those_whom_it_concerns() -> None:
    book = FaultBook()
    book.add(NoCapacity(where={"belay:job": "a"}))
    assert book.find(NoCapacity, {"belay:job": "b"}) is None
    assert book.find(ExportFails, {"belay:job": "a"}) is None
    assert book.find(NoCapacity, {"belay:job": "a", "more": "x"}) is not None
