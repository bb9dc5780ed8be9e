"""Every second of a run is in the right bucket."""

from pytest import approx

from belay.contract.events import Stopped, Stopping
from belay.goodput.buckets import Bucket
from tools.docgen.sample_runs import (
    BEFORE,
    at,
    evaluated,
    event,
    failed,
    finished,
    flow,
    of,
    resumed,
    saved,
    seconds_of,
    started,
    steps,
    verified,
)

AFTER_100 = [("Teardown", 230), ("Find what is left", 231), ("Export to S3", 235), ("Verify", 250)]
TO_THE_END = [*AFTER_100, ("Delete file system", 255), ("Certify", 290)]


def test_a_run_without_faults_has_every_phase_from_queue_to_deletion() -> None:
    events = [started(100), *steps(1, 100, begin=120), saved(100, 225, durable=5.0, stall=0.1), finished(100, 228)]
    timeline = of(events, flow(*BEFORE, *TO_THE_END), end=291)

    assert seconds_of(timeline) == approx(
        {
            Bucket.QUEUE: 2,
            Bucket.FILE_SYSTEM: 50,
            Bucket.IMPORT: 8,
            Bucket.INSTANCE: 40 + 2 + 5,
            Bucket.INIT: 20 + 3,
            Bucket.COMPUTE: 100,
            Bucket.SAVE: 5,
            Bucket.EXPORT: 15,
            Bucket.VERIFICATION: 5 + 1,
            Bucket.DELETION: 35,
        },
        abs=1e-6,
    )
    assert timeline.kept_step == 100


def test_steps_after_the_one_that_a_restart_resumes_from_are_lost() -> None:
    events = [
        *(started(100), *steps(1, 50, begin=110), saved(40, 150), failed(162)),
        *(started(200, attempt=2), resumed(40, 205, attempt=2), *steps(41, 100, begin=210, attempt=2)),
        *(saved(100, 270, attempt=2), finished(100, 270, attempt=2)),
    ]
    of_it = seconds_of(of(events, flow(*BEFORE, ("How did it end?", 163), ("Train", 164)), end=270))

    assert of_it[Bucket.COMPUTE] == approx(100)
    assert of_it[Bucket.LOST] == approx(10 + 2), "ten steps, and two seconds without a step"
    assert of_it[Bucket.RECOVERY] == approx(210 - 162)


def test_a_restart_that_repeats_no_step_still_has_a_recovery_gap() -> None:
    """Killed right after a save: step 51 follows step 50, an hour later and in another attempt."""
    events = [
        *(started(100), *steps(1, 50, begin=110), saved(50, 160), failed(160)),
        *(started(3700, attempt=2), resumed(50, 3750, attempt=2), *steps(51, 100, begin=3760, attempt=2)),
        *(saved(100, 3810, attempt=2), finished(100, 3810, attempt=2)),
    ]
    of_it = seconds_of(of(events, flow(*BEFORE), end=3810))

    assert of_it[Bucket.COMPUTE] == approx(100)
    assert of_it[Bucket.RECOVERY] == approx(3600)
    assert Bucket.LOST not in of_it and Bucket.SLOWDOWN not in of_it


def test_the_reference_step_time_is_the_median_of_the_run() -> None:
    """One step in ten takes 5 s instead of 1 s."""
    quick = [
        step
        for begin in range(0, 140, 14)
        for step in steps(begin // 14 * 10 + 1, begin // 14 * 10 + 9, begin=100 + begin)
    ]
    slow = [steps(number, number, begin=100 + number // 10 * 14 - 5, each=5.0)[0] for number in range(10, 101, 10)]
    timeline = of([started(90), *quick, *slow], flow(*BEFORE), end=240, is_over=False)

    assert timeline.reference_step_seconds == approx(1.0, rel=0.01)
    assert seconds_of(timeline)[Bucket.SLOWDOWN] == approx(10 * 4, rel=0.02)


def test_a_reference_from_elsewhere_shows_a_run_that_is_slow_throughout() -> None:
    events = [started(90), *steps(1, 50, begin=100, each=2.0)]
    assert Bucket.SLOWDOWN not in seconds_of(of(events, end=200, is_over=False))
    assert seconds_of(of(events, end=200, is_over=False, reference=1.0))[Bucket.SLOWDOWN] == approx(49)


def test_the_extra_time_of_the_first_step_of_an_attempt_is_init() -> None:
    events = [started(100), *steps(1, 1, begin=110, each=30.0), *steps(2, 50, begin=140), saved(50, 189)]
    of_it = seconds_of(of(events, flow(*BEFORE), end=189, is_over=False))
    assert of_it[Bucket.INIT] == approx(10 + 29, abs=0.1)
    assert of_it[Bucket.COMPUTE] == approx(50, abs=0.1)


def test_an_evaluation_and_a_save_that_training_waits_for_are_not_compute() -> None:
    events = [
        *(started(100), *steps(1, 20, begin=110, every=10), evaluated(20, 136, runtime=6.0)),
        *(*steps(21, 40, begin=136, every=10), saved(40, 160, stall=4.0, durable=4.0)),
        *steps(41, 60, begin=160, every=10),
    ]
    of_it = seconds_of(of(events, flow(*BEFORE), end=180, is_over=False))
    assert of_it[Bucket.EVALUATION] == approx(6)
    assert of_it[Bucket.SAVE] == approx(4)
    assert of_it[Bucket.COMPUTE] == approx(60)


def test_an_evaluation_after_the_last_step_is_no_lost_work() -> None:
    events = [started(100), *steps(1, 20, begin=110), saved(20, 130), evaluated(20, 135, runtime=5.0)]
    events.append(finished(20, 136))
    of_it = seconds_of(of(events, flow(*BEFORE), end=136))
    assert Bucket.LOST not in of_it
    assert of_it[Bucket.EVALUATION] == approx(5)


def test_a_save_blocks_training_when_it_begins_not_when_it_is_logged() -> None:
    events = [started(100), *steps(1, 40, begin=110), saved(10, 145, stall=0.5, durable=25.0)]
    timeline = of(events, flow(*BEFORE), end=150, is_over=False)
    [save] = [span for span in timeline.nodes[0].spans if span.bucket is Bucket.SAVE]
    assert (save.start_us, save.end_us) == (_us(120), _us(120.5))


def test_steps_that_no_save_holds_are_lost_when_the_run_is_over_and_at_risk_while_it_lives() -> None:
    events = [started(100), *steps(1, 50, begin=110), saved(40, 150)]
    assert seconds_of(of(events, flow(*BEFORE), end=160, is_over=False))[Bucket.COMPUTE] == approx(50)
    over = seconds_of(of([*events, failed(165)], flow(*BEFORE), end=165))
    assert (over[Bucket.COMPUTE], over[Bucket.LOST]) == approx((40, 15))


def test_a_trainer_that_saves_after_sigterm_loses_nothing() -> None:
    events = [
        *(
            started(100),
            *steps(1, 50, begin=110, every=10),
            event(Stopping, 164, signal="SIGTERM", deadline_seconds=90),
        ),
        *(saved(55, 166, durable=1.0, stall=1.0), failed(168)),
    ]
    # The teardown begins while the trainer still runs.
    of_it = seconds_of(of(events, flow(*BEFORE, ("Find what is left", 161), ("Stop training", 163)), end=168))
    assert Bucket.LOST not in of_it
    assert of_it[Bucket.COMPUTE] == approx(55)
    assert of_it[Bucket.SAVE] == approx(1)


def test_a_trainer_that_logged_its_stop_but_not_its_end_lost_nothing() -> None:
    events = [
        *(started(100), *steps(1, 40, begin=110), event(Stopping, 151, signal="SIGTERM", deadline_seconds=90)),
        *(saved(42, 152, stall=0.1, durable=0.1), event(Stopped, 152, step=42, saved_step=42, lost_steps=0)),
    ]
    phases = flow(*BEFORE, ("Find what is left", 151), ("Stop training", 152), ("Export to S3", 165))
    of_it = seconds_of(of(events, phases, end=170))
    assert Bucket.LOST not in of_it
    assert of_it[Bucket.COMPUTE] == approx(41.9)
    assert of_it[Bucket.INIT] + of_it[Bucket.INSTANCE] == approx(10 + 40 + 13)


def test_a_recovery_gap_begins_when_training_stops_not_when_the_program_ends() -> None:
    events = [
        *(started(100), *steps(1, 50, begin=110), event(Stopping, 158, signal="SIGTERM", deadline_seconds=90)),
        *(saved(50, 161, durable=1.0, stall=1.0), failed(171), started(200, attempt=2)),
        *(resumed(50, 205, attempt=2), *steps(51, 60, begin=210, attempt=2), saved(60, 220, attempt=2)),
        finished(60, 220, attempt=2),
    ]
    of_it = seconds_of(of(events, flow(*BEFORE), end=220))
    assert of_it[Bucket.RECOVERY] == approx(210 - 161)
    assert Bucket.LOST not in of_it


def test_an_attempt_that_finds_no_checkpoint_loses_all_that_was_trained_before_it() -> None:
    events = [
        *(started(100), *steps(1, 30, begin=110), failed(140)),
        *(started(150, attempt=2), *steps(1, 20, begin=160, attempt=2), saved(20, 180, attempt=2)),
        finished(20, 180, attempt=2),
    ]
    of_it = seconds_of(of(events, flow(*BEFORE), end=180))
    assert (of_it[Bucket.COMPUTE], of_it[Bucket.LOST]) == approx((20, 30))


def test_durable_goodput_counts_only_steps_that_are_proven_in_s3() -> None:
    events = [started(100), *steps(1, 50, begin=110), saved(20, 131), saved(40, 151), verified(20, 155), failed(160)]
    timeline = of(events, flow(*BEFORE), end=160)
    assert timeline.durable_us == approx(20e6)
    assert timeline.us_of[Bucket.COMPUTE] == approx(40e6)


def test_without_the_flows_history_time_without_events_is_unknown() -> None:
    events = [started(100), *steps(1, 10, begin=110), saved(10, 120), verified(10, 140)]
    of_it = seconds_of(of(events, end=150))
    assert of_it[Bucket.UNKNOWN] >= 100
    assert of_it[Bucket.COMPUTE] == approx(10)


def test_a_program_that_logs_no_steps_has_no_compute_time() -> None:
    of_it = seconds_of(of([started(100), finished(0, 500)], flow(*BEFORE), end=500))
    assert of_it[Bucket.UNKNOWN] == approx(400)
    assert Bucket.COMPUTE not in of_it


def _us(seconds: float) -> int:
    return round(at(seconds).timestamp() * 1e6)
