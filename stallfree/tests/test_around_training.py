"""What scripts and their callbacks do around a save, and what it must not cost."""

import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Any

import pytest
import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.events import Event, Resumed, Saved
from stallfree.loading.resume import NothingWhole
from stallfree.saving.images.copies import HostCopies
from stallfree.saving.readers import readers_of_checkpoints
from transformers import Trainer, TrainerCallback
from transformers.integrations.integration_utils import MLflowCallback, WandbCallback, WandbLogModel
from watching import PLAINLY, At, Noting, fast


def steps_in(out: Path) -> list[int]:
    return sorted(int(path.name[11:]) for path in out.glob("checkpoint-*"))


def moments_of(optimizer: Any) -> list[torch.Tensor]:
    return [state[name].clone() for state in optimizer.state_dict()["state"].values() for name in sorted(state)]


@pytest.fixture
def slow_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the state were large: training is back at work long before it is copied."""
    copy = HostCopies.copy

    def slowly(*args: Any) -> None:
        time.sleep(0.05)
        copy(*args)

    monkeypatch.setattr(HostCopies, "copy", slowly)


def test_a_checkpoint_to_resume_from_may_be_given_as_a_path(make_trainer: Any, out: Path) -> None:
    make_trainer(Stallfree(cadence=EverySteps(12))).train()
    events: list[Event] = []
    make_trainer(Stallfree(sink=events.append)).train(resume_from_checkpoint=out / "checkpoint-12")
    assert [event.step for event in events if isinstance(event, Resumed)] == [12]


def test_for_what_the_trainer_alone_has_saved_the_error_says_what_to_do(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_trainer(save_strategy="epoch").train()
    with pytest.raises(NothingWhole, match=r"checkpoint-24: it has no manifest; .* is resumed from by its path"):
        make_trainer(Stallfree()).train(resume_from_checkpoint=True)
    assert f"{out / 'checkpoint-12'} is passed over: it has no manifest" in caplog.text
    trainer = make_trainer(Stallfree())
    trainer.train(resume_from_checkpoint=str(out / "checkpoint-24"))
    assert trainer.state.global_step == 24


def test_a_handler_that_someone_installs_while_training_stays(make_trainer: Any) -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        install = At("on_train_end", {24}, lambda **_: signal.signal(signal.SIGTERM, signal.SIG_IGN))
        make_trainer(Stallfree(), install).train()
        assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)
    make_trainer(Stallfree()).train()
    assert signal.getsignal(signal.SIGTERM) == before


class Reader(TrainerCallback):
    """Reads the checkpoint, as one that uploads it does."""

    def __init__(self) -> None:
        self.read: list[int] = []

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self.read.append(manifest.verify(Path(args.output_dir) / f"checkpoint-{state.global_step}").step)


@pytest.mark.usefixtures("slow_copies")
def test_a_callback_with_on_save_finds_the_checkpoint_whole(
    make_trainer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    reader, events = Reader(), list[Event]()
    make_trainer(fast(sink=events.append), reader).train()
    assert reader.read == [8, 16, 24]
    assert caplog.text.count("Reader may read it") == 1
    assert all(event.stall_seconds == event.durable_seconds for event in events if isinstance(event, Saved))


@pytest.mark.usefixtures("slow_copies")
def test_weights_that_are_swapped_where_no_one_counts_while_on_save_runs_are_saved_as_they_were(
    make_trainer: Any, out: Path
) -> None:
    kept: list[torch.Tensor] = []

    def swap(**objects: Any) -> None:
        kept[:] = [weight.data.clone() for weight in objects["model"].parameters()]
        for weight in objects["model"].parameters():
            weight.data.zero_()

    def swap_back(**objects: Any) -> None:
        for weight, value in zip(objects["model"].parameters(), kept, strict=True):
            weight.data.copy_(value)

    noting = Noting()
    swaps = At("on_save", {8, 16, 24}, swap), At("on_step_begin", {8, 16, 24}, swap_back)
    make_trainer(fast(), noting, *swaps).train()
    noting.assert_saved(out, 8, 16, 24)


class EvaluatesOthers(Trainer):
    """With averaged weights, say."""

    def evaluate(self, *args: Any, **named: Any) -> dict[str, float]:
        weights = [weight.data for weight in self.model.parameters()]  # type: ignore[union-attr]
        kept = [weight.clone() for weight in weights]
        for weight in weights:
            weight.zero_()
        time.sleep(0.2)
        result = super().evaluate(*args, **named)
        for weight, value in zip(weights, kept, strict=True):
            weight.copy_(value)
        return result


@pytest.mark.usefixtures("slow_copies")
def test_weights_that_are_swapped_for_an_evaluation_while_a_save_is_under_way_are_saved_as_they_were(
    make_trainer: Any, out: Path
) -> None:
    noting = Noting()
    trainer = make_trainer(fast(cadence=EverySteps(6)), noting, eval_strategy="epoch")
    trainer.__class__ = EvaluatesOthers
    trainer.train()
    noting.assert_saved(out, 6, 12, 18, 24)


def test_trackers_are_waited_for_only_where_they_upload_checkpoints(make_trainer: Any) -> None:
    quiet, loud = object.__new__(MLflowCallback), object.__new__(WandbCallback)
    quiet._log_artifacts, quiet._auto_end_run, loud._log_model = False, False, WandbLogModel.CHECKPOINT
    trainer = make_trainer(Stallfree())
    trainer.callback_handler.callbacks += [quiet, loud]
    assert readers_of_checkpoints(trainer) == ["WandbCallback"]
    loud._log_model = WandbLogModel.END
    assert readers_of_checkpoints(trainer) == []


class StepsTwice(Trainer):
    """Updates the weights in its own way, before the Trainer does."""

    def training_step(self, model: Any, inputs: Any, *args: Any) -> Any:
        super().training_step(model, inputs, *args)
        self.optimizer.step()  # type: ignore[union-attr]
        self.optimizer.zero_grad()  # type: ignore[union-attr]
        return super().training_step(model, inputs, *args)


@pytest.mark.usefixtures("slow_copies")
def test_an_update_that_the_trainer_tells_nobody_of_waits_for_the_copy_too(make_trainer: Any, out: Path) -> None:
    moments: dict[int, list[torch.Tensor]] = {}

    def note(**objects: Any) -> None:
        moments[trainer.state.global_step] = moments_of(objects["optimizer"])

    trainer = make_trainer(fast(cadence=EverySteps(4)), At("on_step_end", {4, 8, 12}, note), max_steps=12)
    trainer.__class__ = StepsTwice
    trainer.train()
    for step, noted in moments.items():
        saved = torch.load(out / f"checkpoint-{step}" / "optimizer.pt", weights_only=True)
        assert all(
            map(torch.equal, [state[name] for state in saved["state"].values() for name in sorted(state)], noted)
        )
    optimizer: Any = trainer.optimizer
    assert not optimizer.optimizer._optimizer_step_pre_hooks, "nothing is left behind"


def own_save_pretrained(trainer: Any) -> None:
    def save_pretrained(model: Any, folder: str, **_: Any) -> None:
        Path(folder).mkdir(exist_ok=True)
        torch.save(model.state_dict(), Path(folder, "pytorch_model.bin"))

    trainer.model.save_pretrained = MethodType(save_pretrained, trainer.model)


def own_save_model(trainer: Any) -> None:
    def save_model(folder: str, _internal_call: bool = False) -> None:
        Path(folder).mkdir(exist_ok=True)
        torch.save(trainer.model.state_dict(), Path(folder, "pytorch_model.bin"))

    trainer.save_model = save_model


@pytest.mark.parametrize("change", [own_save_pretrained, own_save_model])
def test_a_way_of_saving_that_one_instance_was_given_is_kept(
    change: Callable[[Any], None], make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noting = Noting()
    trainer = make_trainer(fast(), noting)
    change(trainer)
    trainer.train()
    for step in (8, 16, 24):
        saved = torch.load(out / f"checkpoint-{step}" / "pytorch_model.bin", weights_only=True)
        assert all(torch.equal(saved[name], tensor) for name, tensor in noting.weights[step].items())
    assert PLAINLY in caplog.text


def test_of_two_callbacks_the_first_saves_and_the_second_stands_aside(
    make_trainer: Any, out: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noting = Noting()
    second = fast(checkpoints=tmp_path / "second")
    make_trainer(fast(), second, noting, save_strategy="steps", save_steps=7).train()
    noting.assert_saved(out, 8, 16, 24)
    assert not (tmp_path / "second").exists()
    assert caplog.text.count("another Stallfree") == 1


def test_a_callback_that_was_taken_away_again_does_nothing(make_trainer: Any, out: Path) -> None:
    trainer = make_trainer(Stallfree(), save_strategy="steps", save_steps=12)
    trainer.remove_callback(Stallfree)
    trainer.train()
    assert steps_in(out) == [12, 24]
    assert not (out / "checkpoint-12" / manifest.NAME).exists(), "the Trainer's own saves"


def test_the_best_that_was_saved_stays_when_a_better_step_was_not_saved(make_trainer: Any, out: Path) -> None:
    losses = {2: 5.0, 4: 1.0, 6: 0.5}
    trainer = make_trainer(
        Stallfree(),
        max_steps=16,
        eval_strategy="steps",
        eval_steps=2,
        save_strategy="steps",
        save_steps=4,
        save_total_limit=1,
        load_best_model_at_end=True,
    )
    trainer.evaluate = lambda **_: {"eval_loss": losses.get(trainer.state.global_step, 3.0)}
    trainer.train()
    assert steps_in(out) == [4, 16]
    assert trainer.state.best_model_checkpoint == str(out / "checkpoint-4")
