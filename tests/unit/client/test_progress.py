import pytest

from belay.client.progress import Snapshot, bytes_text, progress_of, saves_sentence, seconds_text, sentence
from belay.contract.events import AnyEvent, Evaluated, Failed, Finished, NotSaved, Resumed, Started, Stopped
from belay.contract.ledger import Ledger, LedgerEntry
from tests.unit.client.samples import RUN, START, at, proven, saved, step


def test_before_the_trainer_speaks_nothing_is_claimed() -> None:
    progress = progress_of(Snapshot(status="RUNNING"))

    assert progress.step is None and progress.last_saved_step is None and progress.last_verified_step is None
    assert progress.fraction == 0 and progress.steps_at_risk == 0


def test_the_last_logged_loss_stands_until_the_next() -> None:
    snapshot = Snapshot("RUNNING", events=[step(10, seconds=1, loss=2.5), step(11, seconds=2)])

    assert (progress_of(snapshot).step, progress_of(snapshot).loss) == (11, 2.5)


def test_after_a_restart_the_step_goes_back_to_where_the_new_attempt_is() -> None:
    again = Resumed(at=at(3), run=RUN, attempt=2, step=40, source="checkpoint-40")
    snapshot = Snapshot(
        "RUNNING", events=[step(55, seconds=1), saved(40, seconds=2), again, step(41, seconds=4, attempt=2)]
    )

    assert progress_of(snapshot).step == 41


def test_a_run_that_finished_between_two_log_lines_is_at_its_last_step() -> None:
    finished = Finished(at=at(3), run=RUN, attempt=1, step=276)
    snapshot = Snapshot("SUCCEEDED", events=[step(260, seconds=1), saved(276, seconds=2), finished])
    assert progress_of(snapshot).step == 276
    without_its_last_save = Snapshot(
        "SUCCEEDED", events=[step(260, seconds=1), finished.model_copy(update={"step": 240})]
    )
    assert progress_of(without_its_last_save).step == 260
    assert progress_of(Snapshot("SUCCEEDED", events=[finished])).step == 276


def test_a_run_that_had_nothing_left_to_train_is_where_it_resumed() -> None:
    resumed = Resumed(at=at(1), run=RUN, attempt=1, step=276, source="resume/checkpoint-276")
    finished = Finished(at=at(2), run=RUN, attempt=1, step=0)
    assert progress_of(Snapshot("SUCCEEDED", events=[resumed, finished])).step == 276


def test_only_what_is_proven_in_s3_is_no_longer_at_risk() -> None:
    ledger = Ledger(
        run=RUN, entries=[proven(20, seconds=5), LedgerEntry(step=40, problem="model.safetensors: missing")]
    )
    snapshot = Snapshot(
        "RUNNING", events=[saved(20, seconds=2), saved(40, seconds=4), step(55, seconds=6)], ledger=ledger
    )

    progress = progress_of(snapshot)

    assert (progress.last_saved_step, progress.last_verified_step, progress.steps_at_risk) == (40, 20, 35)


@pytest.mark.parametrize(("source", "at_risk"), [("resume/checkpoint-40", 15), ("run/checkpoints/checkpoint-40", 55)])
def test_what_an_earlier_run_had_proven_is_not_at_risk_in_this_one(source: str, at_risk: int) -> None:
    resumed = Resumed(at=at(1), run=RUN, attempt=1, step=40, source=source)

    assert progress_of(Snapshot("RUNNING", events=[resumed, step(55, seconds=2)])).steps_at_risk == at_risk


def test_steps_alone_are_no_sentence() -> None:
    assert sentence(step(10, seconds=1, loss=2.5)) is None


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (Started(at=START, run=RUN, attempt=1, job="digits", processes=1), "the trainer started"),
        (Started(at=START, run=RUN, attempt=3, job="digits", processes=1), "the trainer started, attempt 3"),
        (saved(40, seconds=1), "saved step 40: 9 files, 1.2 MB, training waited 3.4 ms"),
        (
            Stopped(at=START, run=RUN, attempt=1, step=43, saved_step=40, lost_steps=3, seconds_left=1.5),
            "stopped after step 43: step 40 is saved, 3 steps lost",
        ),
        (
            Stopped(at=START, run=RUN, attempt=1, step=0, saved_step=None, lost_steps=0),
            "stopped after step 0: nothing is saved, 0 steps lost",
        ),
        (NotSaved(at=START, run=RUN, attempt=1, step=50, reason="disk full"), "could not save step 50: disk full"),
        (Failed(at=START, run=RUN, attempt=1, exit_code=1, reason="ValueError"), "failed with exit code 1: ValueError"),
    ],
)
def test_an_event_of_the_trainer_becomes_a_sentence(event: AnyEvent, text: str) -> None:
    assert sentence(event) == text


def test_an_evaluation_is_said_by_its_quality_and_not_by_its_speed() -> None:
    metrics = {"eval_accuracy": 0.9123, "eval_runtime": 1.2, "eval_samples_per_second": 300.0, "epoch": 3.0}

    text = sentence(Evaluated(at=START, run=RUN, attempt=1, step=69, metrics=metrics))

    assert text == "evaluated at step 69: eval_accuracy 0.912"


def test_what_the_saves_cost_is_one_line_with_their_medians() -> None:
    stalls = [0.0021, 0.0034, 5.0]
    snapshot = Snapshot(
        "SUCCEEDED", events=[saved(20, seconds=n, stall_seconds=stall) for n, stall in enumerate(stalls)]
    )

    assert saves_sentence(snapshot) == (
        "3 saves: training waited 3.4 ms for one (median), which was whole and on disk 200 ms after it began"
    )
    assert saves_sentence(Snapshot("FAILED")) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.00042, "0.4 ms"), (0.0034, "3.4 ms"), (0.0123, "12 ms"), (0.9, "900 ms"), (5.21, "5.2 s"), (76.8, "1m17s")],
)
def test_times_have_the_unit_that_fits(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1.0 kB"), (123_456, "123 kB"), (4_260_000_000, "4.3 GB")],
)
def test_sizes_have_the_unit_that_fits(count: int, text: str) -> None:
    assert bytes_text(count) == text
