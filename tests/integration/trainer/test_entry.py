"""The whole task: from the mount to the exit code."""

import json
import os
import shutil
import signal
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_whole
from transformers import AutoModelForImageClassification

from belay.contract import exit_codes
from belay.contract.events import Failed, Finished, Mounted, Resumed, Saved, Started, Stopping
from belay.contract.manifest import Manifest
from belay.contract.plan import ResumeFrom
from containers.trainer.supervision.processes import descendants

from .conftest import RUN, Scratch, WriteScript

SCRIPT = {"command": ["train.py", "1e-2"]}


def weights_bytes(scratch: Scratch, step: int) -> bytes:
    return (scratch.checkpoints / f"checkpoint-{step}" / "model.safetensors").read_bytes()


def test_an_unmodified_script_saves_into_the_run_reports_and_finishes(finished: Scratch) -> None:
    task = finished.attempts[0]
    assert task.kinds("started", "mounted", "finished", "failed") == ["started", "mounted", "finished"]
    first = task.events[0]
    assert isinstance(first, Started) and first.host and first.host.kernel == os.uname().release
    assert task.steps("saved") == [5, 10, 15, 20, 24]
    assert task.steps("removed") == [5, 10]
    assert task.steps("step") == list(range(1, 25))
    last = task.events[-1]
    assert isinstance(last, Finished) and last.step == 24
    assert all(event.run == RUN and event.attempt == 1 for event in task.events)
    for step in (15, 20, 24):
        Manifest.model_validate_json((finished.checkpoints / f"checkpoint-{step}" / manifest.NAME).read_bytes())
    assert "the script went on to its end at step 24" in task.output


def test_events_are_the_same_in_the_log_with_metrics_for_cloudwatch(finished: Scratch) -> None:
    task = finished.attempts[0]
    on_mount = [json.loads(line) for line in task.events_file.read_text().splitlines()]
    printed = [{name: line[name] for name in line if name not in ("_aws", "job")} for line in task.printed]
    assert printed == [{name: line[name] for name in line if name != "job"} for line in on_mount]
    saved = next(line for line in task.printed if line["kind"] == "saved")
    metrics = saved["_aws"]["CloudWatchMetrics"][0]
    assert metrics["Dimensions"] == [["job"]] and saved["job"] == "tiny"
    assert {metric["Name"] for metric in metrics["Metrics"]} == {"stall_seconds", "durable_seconds", "bytes"}
    assert saved["path"] == "run/checkpoints/checkpoint-5"


def test_killed_and_started_again_it_resumes_and_ends_with_the_weights_of_an_uninterrupted_run(
    scratch: Scratch, write_script: WriteScript, finished: Scratch
) -> None:
    write_script()
    _kill_at_step(scratch.data / "train.py", 13)
    scratch.plan(SCRIPT)
    first = scratch.start()
    assert first.wait() == 128 + signal.SIGKILL
    last = first.events[-1]
    assert isinstance(last, Failed) and last.exit_code == 137 and "SIGKILL" in last.reason

    announced = max(first.steps("saved"))
    second = scratch.start(BELAY_NODE="1")
    assert second.wait() == 0
    # Both attempts write to the one file of the run.
    assert {(event.attempt, event.node) for event in second.events} == {(1, 0), (2, 1)}
    [resumed] = [event for event in second.events if isinstance(event, Resumed)]
    # The save of step 10 began before the kill, and each save waits for the one before it.
    assert resumed.step in (5, 10)
    # The newest that was announced, or a newer whole one: a kill can fall between a commit and its announcement.
    assert resumed.step >= announced
    assert (resumed.source, resumed.attempt) == (f"run/checkpoints/checkpoint-{resumed.step}", 2)
    assert weights_bytes(scratch, 24) == weights_bytes(finished, 24)


def _kill_at_step(script: Path, step: int) -> None:
    """The first attempt dies; the second finds that it has happened already."""
    text = script.read_text()
    dies = f"""
        import os, pathlib, signal
        if state.global_step == {step} and not pathlib.Path("killed").exists():
            pathlib.Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
"""
    script.write_text(text.replace("        import time\n", dies + "        import time\n"))


@pytest.mark.parametrize("workers", [0, 2], ids=["plain", "with data loader workers"])
def test_sigterm_saves_the_step_commits_and_exits_with_143(
    scratch: Scratch, write_script: WriteScript, workers: int
) -> None:
    write_script(pause=0.3, workers=workers)
    scratch.plan(SCRIPT, checkpoint={"every": "1h"})
    task = scratch.start()
    task.until("step", step=3)
    task.stop()
    task.stop()
    assert task.wait() == 143, task.output

    saved = [event for event in task.events if isinstance(event, Saved)]
    assert len(saved) == 1 and saved[0].step >= 3
    found = newest_whole(scratch.checkpoints).found
    assert found is not None and found.step == saved[0].step
    stopping = [event for event in task.events if isinstance(event, Stopping)]
    assert [event.signal for event in stopping] == ["SIGTERM"]
    last = task.events[-1]
    assert isinstance(last, Failed) and last.exit_code == 143
    assert "the script went on" not in task.output


def test_what_ignores_sigterm_is_killed_at_the_deadline(scratch: Scratch) -> None:
    (scratch.data / "ignores-sigterm.sh").write_text(
        "trap '' TERM\ntouch run/staging/ignores-sigterm\nwhile true; do sleep 1; done\n"
    )
    scratch.plan({"command": ["bash", "data/ignores-sigterm.sh"]})
    task = scratch.start(BELAY_STOP_SECONDS="1")
    task.until("mounted")
    while not (scratch.files / "run" / "staging" / "ignores-sigterm").exists():
        assert task.process.poll() is None
    task.stop()
    assert task.wait() == 137
    last = task.events[-1]
    assert isinstance(last, Failed) and "did not end in time" in last.reason


def test_when_its_time_is_spent_training_saves_and_says_why_with_a_code_of_its_own(
    scratch: Scratch, write_script: WriteScript
) -> None:
    write_script(pause=0.3)
    scratch.plan(SCRIPT, checkpoint={"every": "1h"}, limits={"train": "1h"})
    task = scratch.start()
    task.until("step", step=3)
    # As if the alarm that it has set itself rang now.
    task.process.send_signal(signal.SIGALRM)
    assert task.wait() == exit_codes.TIME_SPENT, task.output

    [saved] = [event for event in task.events if isinstance(event, Saved)]
    found = newest_whole(scratch.checkpoints).found
    assert found is not None and 3 <= found.step == saved.step < 24
    [stopping] = [event for event in task.events if isinstance(event, Stopping)]
    last = task.events[-1]
    assert isinstance(last, Failed) and (last.exit_code, last.reason) == (143, stopping.why)


def test_an_attempt_that_begins_with_nothing_left_to_spend_ends_at_once(scratch: Scratch) -> None:
    (scratch.data / "long.sh").write_text("while true; do sleep 0.1; done\n")
    scratch.plan({"command": ["bash", "data/long.sh"]}, limits={"train": "1h"})
    task = scratch.start(BELAY_ATTEMPT_BEGAN=(datetime.now(UTC) - timedelta(hours=1)).isoformat())
    assert task.wait() == exit_codes.TIME_SPENT, task.output
    [stopping] = [event for event in task.events if isinstance(event, Stopping)]
    assert stopping.why == "limits.train leaves only what saving takes"


def test_a_training_that_ends_with_one_of_our_codes_has_failed_like_any_other(scratch: Scratch) -> None:
    (scratch.data / "own.sh").write_text(f"exit {exit_codes.BUDGET_SPENT}\n")
    scratch.plan({"command": ["bash", "data/own.sh"]})
    assert scratch.start().wait() == 1


def test_a_launcher_of_the_users_own_carries_the_hook_along_and_its_exit_code_back(
    scratch: Scratch, write_script: WriteScript
) -> None:
    write_script()
    (scratch.data / "run.sh").write_text("python data/train.py $1 || exit 9\nexit 7\n")
    scratch.plan({"command": ["bash", "data/run.sh", "1e-3"]})
    task = scratch.start()
    assert task.wait() == 7, task.output
    assert task.steps("saved") == [5, 10, 15, 20, 24]
    last = task.events[-1]
    assert isinstance(last, Failed) and last.reason == "training ended with exit code 7"


def test_a_script_that_raises_fails_with_its_exception_as_the_reason(scratch: Scratch) -> None:
    (scratch.data / "train.py").write_text("raise ValueError('the learning rate is negative')")
    scratch.plan({"command": ["data/train.py"]})
    task = scratch.start()
    assert task.wait() == 1
    last = task.events[-1]
    assert isinstance(last, Failed) and last.reason == "ValueError: the learning rate is negative"


def test_a_plan_that_resumes_starts_from_the_earlier_runs_checkpoint(
    scratch: Scratch, write_script: WriteScript, finished: Scratch
) -> None:
    write_script()
    resume = ResumeFrom(run="20261120t000000z-00000000", step=20, mount_path="resume/checkpoint-20")
    scratch.plan(SCRIPT, resume=resume)
    shutil.copytree(finished.checkpoints / "checkpoint-20", scratch.files / "resume" / "checkpoint-20")
    task = scratch.start()
    assert task.wait() == 0, task.output
    resumed = [event for event in task.events if isinstance(event, Resumed)]
    assert [(event.step, event.source) for event in resumed] == [(20, "resume/checkpoint-20")]
    assert weights_bytes(scratch, 24) == weights_bytes(finished, 24)


def test_started_and_mounted_say_what_there_is(scratch: Scratch) -> None:
    scratch.plan({"command": ["true"]})
    task = scratch.start()
    assert task.wait() == 0
    started, mounted, finished = task.events
    assert isinstance(started, Started) and (started.job, started.processes) == ("tiny", 1)
    assert isinstance(mounted, Mounted) and mounted.storage_targets == 1
    assert mounted.file_system.startswith("fs-0123456789abcdef0")
    assert isinstance(finished, Finished) and finished.step == 0
    assert "no Trainer trained in a Python of the image" in task.output


def test_no_process_is_left_behind_when_the_launcher_alone_is_killed(
    scratch: Scratch, write_script: WriteScript
) -> None:
    write_script(pause=0.3)
    scratch.plan(SCRIPT)
    task = scratch.start()
    task.until("step", step=1)
    launcher, *workers = descendants(task.process.pid)
    os.kill(launcher, signal.SIGKILL)
    assert task.wait() == 137
    assert workers and not any(Path(f"/proc/{worker}").exists() for worker in workers)


def test_caches_stay_off_the_mount_and_are_gone_at_the_end(scratch: Scratch) -> None:
    scratch.plan({"command": ["bash", "-c", "touch $HOME/mine && mkdir -p $HF_HOME && touch $HF_HOME/cache"]})
    task = scratch.start()
    assert task.wait() == 0, task.output
    assert list(scratch.temporary.iterdir()) == []
    assert not list(scratch.files.rglob("mine"))


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), ("{", "Invalid JSON"), ('{"run": 1}', "Field required")],
    ids=["missing", "damaged", "of something else"],
)
def test_without_a_plan_that_can_be_read_nothing_runs(scratch: Scratch, content: str | None, said: Any) -> None:
    if content is not None:
        (scratch.files / "run" / "run.json").write_text(content)
    task = scratch.start(BELAY_PLAN_SECONDS="1")
    assert task.wait() == 1
    assert task.printed[-1]["kind"] == "failed" and said in task.printed[-1]["reason"]
    assert not scratch.checkpoints.exists()


def test_a_plan_that_fsx_shows_late_is_waited_for(scratch: Scratch) -> None:
    scratch.plan({"command": ["true"]})
    plan = scratch.files / "run" / "run.json"
    content = plan.read_text()
    plan.unlink()
    task = scratch.start()
    time.sleep(3)
    plan.write_text(content)
    assert task.wait() == 0
    assert "run.json is not there yet: waiting up to 120 s" in task.output


def test_a_recipe_trains_from_the_job_file_alone(scratch: Scratch) -> None:
    for split, count in (("train", 6), ("test", 2)):
        for label in ("cat", "dog"):
            folder = scratch.data / split / label
            folder.mkdir(parents=True)
            for number in range(count):
                Image.new("RGB", (8, 8), color=(number * 40,) * 3).save(folder / f"{number}.png")
    model = {"model_type": "vit", "image_size": 8, "patch_size": 4, "hidden_size": 16, "num_hidden_layers": 1}
    scratch.plan(
        {
            "recipe": "image-classification",
            "model": {**model, "num_attention_heads": 2, "intermediate_size": 16},
            "arguments": {"num_train_epochs": 2, "per_device_train_batch_size": 2, "eval_strategy": "epoch"},
        }
    )
    task = scratch.start()
    assert task.wait() == 0, task.output
    assert task.steps("saved") == [5, 10, 12] and task.steps("evaluated") == [6, 12]
    AutoModelForImageClassification.from_pretrained(scratch.checkpoints / "checkpoint-12")
    assert not [path for path in scratch.data.rglob("*") if path.is_file() and path.suffix != ".png"]
