"""An unmodified Trainer with the callback: what it saves, keeps, resumes from, and how it stops."""

import os
import resource
import signal
import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.events import Event, Removed, Resumed, Saved
from stallfree.loading.resume import NothingWhole
from stallfree.saving.saver import SaveFailed
from transformers import GPT2LMHeadModel, Trainer, TrainerCallback

pytestmark = pytest.mark.usefixtures("each_saver")


class Crash(Exception):
    """Stands for anything that ends training between two saves."""


class At(TrainerCallback):
    """Does something when training comes to a point, as a callback of the script's own."""

    def __init__(self, event: str, step: int, action: Any) -> None:
        setattr(self, event, lambda args, state, control, **_: action() if state.global_step == step else None)


def crash() -> None:
    raise Crash


def ask_to_stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def steps_in(folder: Path) -> list[int]:
    for checkpoint in folder.glob("checkpoint-*"):
        manifest.verify(checkpoint)
    return sorted(int(checkpoint.name.removeprefix("checkpoint-")) for checkpoint in folder.glob("checkpoint-*"))


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    assert trainer.model is not None
    return {name: tensor.clone() for name, tensor in trainer.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


@pytest.fixture
def uninterrupted(make_trainer: Any) -> dict[str, torch.Tensor]:
    trainer = make_trainer()
    trainer.train()
    return weights(trainer)


def test_without_settings_it_saves_when_the_trainer_would(make_trainer: Any, out: Path) -> None:
    make_trainer(Stallfree(), save_strategy="epoch").train()
    assert steps_in(out) == [12, 24]
    assert list((out / ".staging").iterdir()) == []


def test_a_checkpoint_is_an_ordinary_one(make_trainer: Any, out: Path) -> None:
    trainer = make_trainer(Stallfree(), save_strategy="epoch")
    trainer.train()
    loaded = GPT2LMHeadModel.from_pretrained(out / "checkpoint-24")
    assert same(loaded.state_dict(), weights(trainer))
    plain = make_trainer(num_train_epochs=3)
    plain.train(resume_from_checkpoint=str(out / "checkpoint-24"))
    assert plain.state.global_step == 36


def test_a_cadence_replaces_the_trainers_own_and_the_last_step_is_always_saved(make_trainer: Any, out: Path) -> None:
    make_trainer(Stallfree(cadence=EverySteps(10)), save_strategy="steps", save_steps=3).train()
    assert steps_in(out) == [10, 20, 24]


def test_the_last_step_is_saved_before_the_evaluation_of_the_last_epoch(make_trainer: Any, out: Path) -> None:
    crashes = At("on_prediction_step", 24, crash)
    with pytest.raises(Crash):
        make_trainer(Stallfree(cadence=EverySteps(10)), crashes, eval_strategy="epoch").train()
    assert steps_in(out) == [10, 20, 24]


def test_training_that_another_callback_ends_early_is_saved_where_it_ended(make_trainer: Any, out: Path) -> None:
    class Enough(TrainerCallback):
        def on_evaluate(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            control.should_training_stop = True

    make_trainer(Stallfree(cadence=EverySteps(10)), Enough(), eval_strategy="epoch").train()
    assert steps_in(out) == [10, 12]


def test_each_save_is_announced_when_it_is_durable_and_on_save_is_still_called(make_trainer: Any, out: Path) -> None:
    events: list[Event] = []
    called = []

    class Listener(TrainerCallback):
        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            called.append(state.global_step)

    def sink(event: Event) -> None:
        if isinstance(event, Saved):
            manifest.verify(Path(event.path))
        events.append(event)

    make_trainer(Stallfree(cadence=EverySteps(8), keep=2, sink=sink), Listener()).train()
    assert called == [8, 16, 24]
    assert [(type(event), event.step) for event in events if isinstance(event, Saved | Removed)] == [
        (Saved, 8),
        (Saved, 16),
        (Saved, 24),
        (Removed, 8),
    ]
    saved = events[0]
    assert isinstance(saved, Saved)
    assert saved.files == 9 and saved.bytes > 10_000 and 0 < saved.stall_seconds <= saved.durable_seconds
    assert steps_in(out) == [16, 24]


@pytest.mark.usefixtures("each_saver")
def test_save_total_limit_is_kept_by_us_and_the_arguments_are_left_as_they_were(make_trainer: Any, out: Path) -> None:
    trainer = make_trainer(Stallfree(), save_strategy="steps", save_steps=5, save_total_limit=2)
    trainer.train()
    assert steps_in(out) == [20, 24]
    assert trainer.args.save_total_limit == 2
    torch.save(trainer.args, out / "training_args.bin")
    saved = out / "checkpoint-24" / "training_args.bin"
    assert saved.read_bytes() == (out / "training_args.bin").read_bytes(), "also in the checkpoint"
    assert "_save_checkpoint" not in vars(trainer)


def test_the_best_model_is_kept_and_loaded_at_the_end(make_trainer: Any, out: Path) -> None:
    trainer = make_trainer(
        Stallfree(cadence=EverySteps(5), keep=2),
        eval_strategy="steps",
        eval_steps=6,
        save_strategy="steps",
        save_steps=6,
        load_best_model_at_end=True,
        # The loss falls, so the first evaluation has the highest.
        metric_for_best_model="loss",
        greater_is_better=True,
    )
    trainer.train()
    assert trainer.state.best_global_step == 6
    assert trainer.state.best_model_checkpoint == str(out / "checkpoint-6")
    assert steps_in(out) == [6, 24]
    best = GPT2LMHeadModel.from_pretrained(out / "checkpoint-6")
    assert same(best.state_dict(), weights(trainer)), "the best was loaded"
    last = GPT2LMHeadModel.from_pretrained(out / "checkpoint-24")
    assert not same(last.state_dict(), weights(trainer)), "and the newest checkpoint still is the newest"
    assert str(out / "checkpoint-6") in (out / "checkpoint-6" / "trainer_state.json").read_text()


def test_a_crashed_training_resumes_to_bitwise_the_same_weights(
    make_trainer: Any, uninterrupted: dict[str, torch.Tensor]
) -> None:
    with pytest.raises(Crash):
        make_trainer(Stallfree(cadence=EverySteps(5)), At("on_step_end", 13, crash)).train()
    events: list[Event] = []
    resumed = make_trainer(Stallfree(cadence=EverySteps(5), sink=events.append))
    resumed.train(resume_from_checkpoint=True)
    assert [event.step for event in events if isinstance(event, Resumed)] == [10]
    assert same(weights(resumed), uninterrupted)


def test_resuming_without_any_checkpoint_is_refused_as_by_the_trainer(make_trainer: Any) -> None:
    with pytest.raises(NothingWhole, match="No whole checkpoint"):
        make_trainer(Stallfree()).train(resume_from_checkpoint=True)


def test_a_named_checkpoint_that_is_damaged_is_refused(make_trainer: Any, out: Path) -> None:
    make_trainer(Stallfree(), save_strategy="epoch").train()
    (out / "checkpoint-12" / "optimizer.pt").write_bytes(b"")
    with pytest.raises(NothingWhole, match=r"optimizer\.pt has 0 bytes"):
        make_trainer(Stallfree()).train(resume_from_checkpoint=str(out / "checkpoint-12"))


def test_always_resume_needs_no_word_from_the_script(make_trainer: Any) -> None:
    with pytest.raises(Crash):
        make_trainer(Stallfree(cadence=EverySteps(5), always_resume=True), At("on_step_end", 13, crash)).train()
    events: list[Event] = []
    make_trainer(Stallfree(cadence=EverySteps(5), always_resume=True, sink=events.append)).train()
    assert [event.step for event in events if isinstance(event, Resumed)] == [10]


def test_what_was_saved_goes_before_what_the_script_begins_with(make_trainer: Any, out: Path, tmp_path: Path) -> None:
    make_trainer(Stallfree(), save_strategy="epoch").train()
    (out / "checkpoint-12").rename(tmp_path / "pretrained")
    events: list[Event] = []
    trainer = make_trainer(Stallfree(always_resume=True, sink=events.append))
    trainer.train(resume_from_checkpoint=str(tmp_path / "pretrained"))
    assert events == [Resumed(24, str(out / "checkpoint-24"))]


def test_adapters_are_saved_as_peft_writes_them_and_resumed_exactly(make_trainer: Any, out: Path) -> None:
    def with_adapters(*callbacks: TrainerCallback) -> Trainer:
        trainer: Trainer = make_trainer(*callbacks)
        torch.manual_seed(1)
        assert trainer.model is not None
        adapted = get_peft_model(trainer.model, LoraConfig(r=2, task_type="CAUSAL_LM", lora_dropout=0.1))
        trainer.model = trainer.model_wrapped = adapted
        return trainer

    uninterrupted = with_adapters()
    uninterrupted.train()
    with pytest.raises(Crash):
        with_adapters(Stallfree(cadence=EverySteps(5)), At("on_step_end", 13, crash)).train()
    assert (out / "checkpoint-10" / "adapter_model.safetensors").exists()
    assert not (out / "checkpoint-10" / "model.safetensors").exists()
    resumed = with_adapters(Stallfree(cadence=EverySteps(5)))
    resumed.train(resume_from_checkpoint=True)
    assert same(weights(resumed), weights(uninterrupted))


def test_training_never_begins_below_the_step_that_it_must_resume_from(make_trainer: Any, out: Path) -> None:
    make_trainer(Stallfree(), save_strategy="epoch").train()
    (out / "checkpoint-24" / "optimizer.pt").unlink()
    with pytest.raises(NothingWhole, match=r"step 24.*checkpoint-24: optimizer\.pt is missing"):
        make_trainer(Stallfree(always_resume=True, resume_at_least=24)).train()


def test_a_finished_training_resumed_takes_no_step_more(make_trainer: Any, out: Path) -> None:
    first = make_trainer(Stallfree(), save_strategy="epoch", max_steps=20)
    first.train()
    again = make_trainer(Stallfree(), save_strategy="epoch", max_steps=20)
    again.train(resume_from_checkpoint=True)
    assert again.state.global_step == 20 and same(weights(again), weights(first))
    assert steps_in(out) == [12, 20]


@pytest.mark.parametrize("room", [1_000, 30_000], ids=["for no model", "for no optimizer"])
def test_a_disk_that_fills_during_a_save_leaves_the_older_ones_and_says_so(
    make_trainer: Any, out: Path, room: int
) -> None:
    """A limit on the size of files stands for the full disk: writing fails in the middle of one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    first_is_durable = threading.Event()

    def fill_the_disk() -> None:
        assert first_is_durable.wait(60)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))

    saves = Stallfree(cadence=EverySteps(5), sink=lambda event: first_is_durable.set())
    trainer = make_trainer(saves, At("on_step_begin", 9, fill_the_disk))
    try:
        with pytest.raises(SaveFailed, match="step 10 could not be saved; older ones are untouched"):
            trainer.train()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert steps_in(out) == [5]
    assert list((out / ".staging").iterdir()) == [], "the room is given back"


def test_sigterm_finishes_the_step_saves_it_and_exits_with_143(
    make_trainer: Any, out: Path, uninterrupted: dict[str, torch.Tensor]
) -> None:
    # In the middle of step 7, and again while it is being saved.
    asked = At("on_pre_optimizer_step", 6, ask_to_stop), At("on_save", 7, ask_to_stop)
    with pytest.raises(SystemExit) as stopped:
        make_trainer(Stallfree(cadence=EverySteps(100)), *asked).train()
    assert stopped.value.code == 143
    assert steps_in(out) == [7]
    resumed = make_trainer(Stallfree(cadence=EverySteps(100)))
    resumed.train(resume_from_checkpoint=True)
    assert same(weights(resumed), uninterrupted)


def test_sigterm_during_an_evaluation_saves_without_finishing_it(make_trainer: Any, out: Path) -> None:
    asked = At("on_prediction_step", 6, ask_to_stop)
    with pytest.raises(SystemExit) as stopped:
        make_trainer(Stallfree(cadence=EverySteps(100)), asked, eval_strategy="steps", eval_steps=6).train()
    assert stopped.value.code == 143
    assert steps_in(out) == [6]


def test_sigterm_begins_no_evaluation(make_trainer: Any, out: Path) -> None:
    asked = At("on_pre_optimizer_step", 5, ask_to_stop)
    too_late = At("on_prediction_step", 6, crash)
    with pytest.raises(SystemExit):
        make_trainer(Stallfree(cadence=EverySteps(100)), asked, too_late, eval_strategy="steps", eval_steps=6).train()
    assert steps_in(out) == [6]


def test_sigterm_before_the_first_step_leaves_nothing_to_save(make_trainer: Any, out: Path) -> None:
    trainer = make_trainer(Stallfree(cadence=EverySteps(100)))
    create_optimizer = trainer.create_optimizer

    def told_while_setting_up(*args: Any) -> Any:
        ask_to_stop()
        return create_optimizer(*args)

    trainer.create_optimizer = told_while_setting_up
    with pytest.raises(SystemExit) as stopped:
        trainer.train()
    assert stopped.value.code == 143 and steps_in(out) == []


def test_after_training_sigterm_means_again_what_it_meant_before(make_trainer: Any) -> None:
    before = signal.getsignal(signal.SIGTERM)
    make_trainer(Stallfree()).train()
    assert signal.getsignal(signal.SIGTERM) is before


def test_added_too_late_to_see_the_resume_it_says_so(make_trainer: Any) -> None:
    trainer = make_trainer()
    trainer.add_callback(Stallfree())
    with pytest.raises(RuntimeError, match="callbacks="):
        trainer.train()
