from belay.contract import task
from belay.contract.states import TrainState
from belay.contract.verdict import Durability, Training
from tools.local_cloud.faults import KillTraining, NoCapacity, SpotInterruption
from tools.local_runs.jobs import digits, script
from tools.local_runs.runs import Deployed, Run


def ended_as(run: Run, training: Training, durability: Durability) -> bool:
    verdict = run.certificate.verdict
    return (verdict.training, verdict.durability) == (training, durability) and run.error == verdict.error


def test_a_script_that_crashes_still_exports_what_it_had_saved(deployed: Deployed) -> None:
    job = script("crash", "data/crash.py", "--crash-at", "25")
    run = deployed.start(job).finish()

    assert run.status == "FAILED"
    assert ended_as(run, Training.CRASHED, Durability.VERIFIED), run.story()
    assert run.verified_steps == [10, 20]
    assert run.file_systems == []
    assert "exit code 1" in run.cause


def test_a_killed_training_keeps_every_checkpoint_that_was_whole(deployed: Deployed) -> None:
    run = deployed.start(digits("killed", steps=2000), faults=(KillTraining(at_step=20, on=["saved"]),)).finish()

    assert ended_as(run, Training.CRASHED, Durability.VERIFIED), run.story()
    assert 20 in run.verified_steps
    assert run.file_systems == [] and run.living_tasks == []


def test_after_a_spot_interruption_training_saves_and_the_next_attempt_resumes(deployed: Deployed) -> None:
    job = digits("spot", steps=80, every="1h", resources={"gpus": 0, "cpus": 1, "memory": "2GiB", "spot": True})
    run = deployed.start(job, faults=(SpotInterruption(at_step=20),)).finish()

    assert run.status == "SUCCEEDED", run.story()
    seen = [(event["kind"], event["attempt"]) for event in run.events if event["kind"] in ("stopping", "resumed")]
    assert seen == [("stopping", 1), ("resumed", 2)]
    saved, resumed = (next(event for event in run.events if event["kind"] == kind) for kind in ("saved", "resumed"))
    assert resumed["step"] == saved["step"] >= 20


def test_training_whose_time_is_spent_is_stopped_before_the_limit(deployed: Deployed) -> None:
    job = script("slow", "bash", "-c", "while true; do sleep 0.2; done", limits={"train": "40s"})
    run = deployed.start(job).finish()

    assert ended_as(run, Training.TIME_SPENT, Durability.NOTHING_SAVED), run.story()
    [stopping] = [event for event in run.events if event["kind"] == "stopping"]
    assert "limits.train" in stopping["why"]
    assert run.file_systems == [] and run.living_tasks == []


def test_training_that_ignores_the_stop_is_ended_by_the_limit(deployed: Deployed) -> None:
    job = script("ignores-sigterm", "bash", "-c", "trap '' TERM; while true; do sleep 1; done", limits={"train": "20s"})
    run = deployed.start(job).finish()

    assert ended_as(run, Training.TIMED_OUT, Durability.NOTHING_SAVED), run.story()
    assert run.file_systems == [] and run.living_tasks == []


def test_without_capacity_the_run_gives_up_within_its_limit(deployed: Deployed) -> None:
    job = digits("no-capacity", limits={"capacity": "10m"}, retry={"capacity": 0})
    run = deployed.start(job, faults=(NoCapacity(),)).finish()

    assert ended_as(run, Training.NO_CAPACITY, Durability.NOTHING_SAVED), run.story()
    assert run.file_systems == [] and run.living_tasks == []


def test_without_capacity_a_run_waits_without_a_file_system_and_goes_on(deployed: Deployed) -> None:
    job = digits("waits", limits={"capacity": "10m", "start": "10h"}, retry={"capacity": 0})
    run = deployed.start(job)
    here = {task.RUN: run.run}
    deployed.cloud.inject(NoCapacity(where=here))

    run.until(lambda: TrainState.FIND_AN_INSTANCE in run.states, "it looks for an instance")
    assert run.file_systems == []
    deployed.cloud.clear_faults(here)
    run.finish()
    assert run.status == "SUCCEEDED", run.story()
    assert run.certificate.verdict.durability is Durability.VERIFIED
    assert run.states.count(TrainState.CREATE_SCRATCH) == 2
    assert run.file_systems == [] and run.living_tasks == []


def test_a_job_with_faults_is_refused_with_all_of_them_and_costs_nothing(deployed: Deployed) -> None:
    run = deployed.start({"name": "refused", "datset": {}, "train": {"recipe": "gpt"}}).finish()

    assert (run.status, run.error) == ("FAILED", "JobRefused")
    assert "datset: unknown; did you mean 'dataset'?" in run.cause
    assert "train.recipe: 'gpt' is not one of" in run.cause
    assert "Create scratch file system" not in run.states


def test_a_job_without_data_is_refused_before_anything_is_created(deployed: Deployed) -> None:
    run = deployed.start(digits("no-data", dataset={"s3": "datasets/nothing-here/"})).finish()

    assert run.error == "JobRefused"
    assert "datasets/nothing-here/" in run.cause
    assert "Create scratch file system" not in run.states
