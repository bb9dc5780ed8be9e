"""What the hook gives to every Trainer of a run."""

import json
import logging
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers.trainer
from _belay_hook import exports, pace_file
from _belay_hook.exports import Exports
from _belay_hook.settings import ENVIRONMENT_VARIABLE, HookSettings
from _belay_hook.trainer_callback import BelayCheckpoints
from stallfree.checkpoint.store import Store
from stallfree.loading.resume import NothingWhole
from stallfree.saving.saver import SaveFailed
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, default_data_collator

from belay.contract.events import Evaluated, MaxLossNotKept, NotSaved, Resumed, Saved, Step, Stopped, parse_event
from belay.contract.faults import parse_job
from belay.contract.plan import RunPlan
from containers.trainer.launch.settings import hook_settings
from containers.trainer.mount.folders import Folders

NUMBERS = [{"input_ids": torch.arange(8) + n, "labels": torch.arange(8) + n} for n in range(16)]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A process of a run: the hook installed, and one thread, as models this small want."""
    torch.set_num_threads(1)
    root = tmp_path / "fsx"
    for folder in (root / "run" / "events", tmp_path / "scratch" / "trainers"):
        folder.mkdir(parents=True)
    settings = HookSettings(
        run="20261121t024455z-3f9a2c1b",
        node=1,
        attempt=2,
        job="tiny",
        root=root,
        checkpoints=root / "run" / "checkpoints",
        staging=root / "run" / "staging",
        resume=root / "resume",
        resume_step=None,
        events=root / "run" / "events" / "trainer.jsonl",
        every_steps=2,
        every_seconds=None,
        keep=2,
        stop_seconds=100,
        scratch=tmp_path / "scratch",
    )
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, settings.to_json())
    monkeypatch.setattr(BelayCheckpoints, "_has_trained", False)
    monkeypatch.setattr(
        transformers.trainer, "DEFAULT_CALLBACKS", [*transformers.trainer.DEFAULT_CALLBACKS, BelayCheckpoints]
    )
    return root


@pytest.fixture
def make(root: Path, tmp_path: Path) -> Callable[..., Trainer]:
    def trainer(out: str = "out", **arguments: Any) -> Trainer:
        torch.manual_seed(0)
        config = GPT2Config(
            vocab_size=32, n_positions=8, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0
        )
        return Trainer(
            model=GPT2LMHeadModel(config),
            args=TrainingArguments(
                str(tmp_path / out),
                per_device_train_batch_size=4,
                use_cpu=True,
                disable_tqdm=True,
                **{"max_steps": 5, **arguments},
            ),
            train_dataset=NUMBERS,
            eval_dataset=NUMBERS,
        )

    return trainer


def events(root: Path) -> list[Any]:
    lines = (root / "run" / "events" / "trainer.jsonl").read_text().splitlines()
    return [parse_event.validate_json(line) for line in lines]


def test_an_unmodified_trainer_reports_the_events_of_the_contract(make: Callable[..., Trainer], root: Path) -> None:
    make(logging_steps=2, eval_strategy="steps", eval_steps=4).train()
    found = events(root)
    assert [event.step for event in found if isinstance(event, Saved)] == [2, 4, 5]
    steps = [event for event in found if isinstance(event, Step)]
    assert [(event.step, event.total_steps) for event in steps] == [(2, 5), (4, 5)]
    assert all(event.loss and event.step_seconds and event.epoch for event in steps)
    evaluated = [event for event in found if isinstance(event, Evaluated)]
    assert evaluated[0].step == 4 and evaluated[0].metrics["eval_loss"] > 0
    assert {(event.run, event.node, event.attempt) for event in found} == {("20261121t024455z-3f9a2c1b", 1, 2)}


def test_the_script_need_not_ask_for_the_resume(make: Callable[..., Trainer], root: Path) -> None:
    make().train()
    BelayCheckpoints._has_trained = False  # the next process
    make(num_train_epochs=1).train()
    resumed = [event for event in events(root) if isinstance(event, Resumed)]
    assert [(event.step, event.source) for event in resumed] == [(5, "run/checkpoints/checkpoint-5")]


def test_the_jobs_checkpoint_settings_reach_the_hook(tmp_path: Path) -> None:
    job = {"name": "tiny", "dataset": {"s3": "datasets/tiny/"}, "train": {"command": ["data/train.py"]}}
    plan = RunPlan(
        run="20261121t024455z-3f9a2c1b",
        execution_arn="arn:aws:states:us-east-1:123456789012:execution:belay-train:tiny",
        started_at=datetime.now(UTC),
        bucket="belay",
        prefix="jobs/tiny/20261121t024455z-3f9a2c1b/",
        job=parse_job({**job, "checkpoint": {"every": "20 steps", "keep": 7, "exact_data": True}}),
        resume=None,
    )
    settings = hook_settings(plan, Folders(tmp_path), node=0, attempt=1, scratch=tmp_path, stop_seconds=60)
    assert HookSettings.from_json(settings.to_json()) == settings
    assert (settings.every_steps, settings.keep, settings.exact_data) == (20, 7, True)


@pytest.mark.parametrize("is_asked_for", [False, True])
def test_a_job_that_asks_for_exact_data_makes_the_same_batches_after_a_resume(
    make: Callable[..., Trainer], root: Path, monkeypatch: pytest.MonkeyPatch, is_asked_for: bool
) -> None:
    settings = HookSettings.from_json(os.environ[ENVIRONMENT_VARIABLE])
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, replace(settings, exact_data=is_asked_for).to_json())
    drawn: list[float] = []

    def collate(samples: list[Any]) -> Any:
        drawn.append(float(torch.rand(())))
        return default_data_collator(samples)

    def batches_of(trainer: Trainer) -> list[float]:
        drawn.clear()
        trainer.data_collator = collate
        trainer.train()
        return drawn[:]

    whole = batches_of(make(max_steps=3))
    shutil.rmtree(root / "run" / "checkpoints" / "checkpoint-3")
    BelayCheckpoints._has_trained = False  # the next process
    resumed = batches_of(make(max_steps=3))
    assert len(resumed) == 2
    assert (resumed == whole[2:]) is is_asked_for


def test_a_plan_that_resumes_never_starts_from_the_beginning_instead(
    make: Callable[..., Trainer], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = json.loads(os.environ[ENVIRONMENT_VARIABLE])
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, json.dumps({**settings, "resume_step": 20}))
    with pytest.raises(NothingWhole, match="resume from step 20"):
        make().train()


def test_a_second_training_in_one_process_is_left_to_itself(
    make: Callable[..., Trainer], root: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make().train()
    before = events(root)
    with caplog.at_level(logging.WARNING):
        make("second", save_strategy="steps", save_steps=5).train()
    assert "second training" in caplog.text
    assert (tmp_path / "second" / "checkpoint-5" / "model.safetensors").exists()
    assert events(root) == before


def test_a_process_in_training_has_a_file_that_says_so(make: Callable[..., Trainer], tmp_path: Path) -> None:
    seen: list[str] = []

    class Look(transformers.TrainerCallback):
        def on_step_end(self, *_: Any, **__: Any) -> None:
            seen.extend(path.name for path in (tmp_path / "scratch" / "trainers").iterdir())

    trainer = make()
    trainer.add_callback(Look())
    trainer.train()
    assert len(set(seen)) == 1 and seen[0].isdigit()
    [file] = (tmp_path / "scratch" / "trainers").iterdir()
    pace = pace_file.read(file)
    assert pace and (pace.phase, pace.step) == ("ended", trainer.state.global_step)


def test_after_an_error_it_is_no_longer_in_training(make: Callable[..., Trainer], tmp_path: Path) -> None:
    """A script may catch it and go on with something else, which is no hang."""

    class Fail(transformers.TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, *_: Any, **__: Any) -> None:
            if state.global_step == 2:
                raise ValueError("broken data")

    trainer = make()
    trainer.add_callback(Fail())
    with pytest.raises(ValueError, match="broken data"):
        trainer.train()
    [file] = (tmp_path / "scratch" / "trainers").iterdir()
    pace = pace_file.read(file)
    assert pace and (pace.phase, pace.step) == ("ended", 2)


def test_a_max_loss_that_cannot_be_kept_is_reported_once_and_exports_are_watched(
    make: Callable[..., Trainer], root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = json.loads(os.environ[ENVIRONMENT_VARIABLE])
    by_loss = {"every_steps": None, "max_loss_seconds": 1.0, "proof_seconds": 3.0}
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, json.dumps({**settings, **by_loss}))
    monkeypatch.setattr(exports, "exported", lambda files: set(files))
    monkeypatch.setattr(Exports.__init__, "__kwdefaults__", {"look_every_seconds": 0.01})
    make().train()
    (unkept,) = [event for event in events(root) if isinstance(event, MaxLossNotKept)]
    assert unkept.work_seconds == 1.0 and unkept.at_risk_seconds > 3.0
    saved = [event.step for event in events(root) if isinstance(event, Saved)]
    assert saved[0] == 1 and saved[-1] == 5
    assert not [thread for thread in threading.enumerate() if thread.name == "belay-exports"]


def test_stuck_in_a_step_when_asked_to_stop_it_leaves_before_it_would_be_killed_and_reports_what_is_lost(
    make: Callable[..., Trainer], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = json.loads(os.environ[ENVIRONMENT_VARIABLE])
    monkeypatch.setenv(ENVIRONMENT_VARIABLE, json.dumps({**settings, "stop_seconds": 2}))

    class Stuck(transformers.TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step == 3:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(60)

    trainer = make()
    trainer.add_callback(Stuck())
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        trainer.train()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 143 and time.monotonic() - began < 55
    (stopped,) = [event for event in events(root) if isinstance(event, Stopped)]
    assert (stopped.step, stopped.saved_step, stopped.lost_steps) == (3, 2, 1)
    assert stopped.seconds_left is not None and stopped.seconds_left > 0


def test_a_save_that_failed_is_reported(
    make: Callable[..., Trainer], root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Store, "commit", full)
    with pytest.raises(SaveFailed):
        make().train()
    (failed,) = [event for event in events(root) if isinstance(event, NotSaved)]
    assert failed.step == 2 and "No space left on device" in failed.reason


def test_a_loss_that_is_no_number_is_left_out_of_the_line(make: Callable[..., Trainer], root: Path) -> None:
    trainer = make(logging_steps=1, logging_nan_inf_filter=False)
    for parameter in trainer.model.parameters():  # type: ignore[union-attr]
        parameter.data.fill_(float("nan"))
    trainer.train()
    lines = (root / "run" / "events" / "trainer.jsonl").read_text().splitlines()
    step = next(json.loads(line, parse_constant=pytest.fail) for line in lines if '"step"' in line)
    assert "loss" not in step
