"""Saving while training goes on: the same files, from the same moment, and nothing else ever."""

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from killing import kill_everywhere
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.checkpoint import manifest
from stallfree.checkpoint.reading import newest_whole
from stallfree.events import Event, Saved
from stallfree.saving import direct, pages
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import PlainSaver, SaveFailed
from transformers import GPT2LMHeadModel, Trainer, TrainerCallback, ViTConfig, ViTForImageClassification

PLAINLY = "written while training waits"


class Pictures(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        pixels = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(number))
        return {"pixel_values": pixels, "labels": torch.tensor(number % 2)}


class At(TrainerCallback):
    """Does something with the Trainer's own objects when training comes to a point."""

    def __init__(self, event: str, steps: set[int], action: Callable[..., object]) -> None:
        def call(args: Any, state: Any, control: Any, **objects: Any) -> None:
            if state.global_step in steps:
                action(**objects)

        setattr(self, event, call)


class Noting(TrainerCallback):
    """The weights as they are when a step ends."""

    def __init__(self) -> None:
        self.weights: dict[int, dict[str, torch.Tensor]] = {}

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        weights = objects["model"].state_dict()
        self.weights[state.global_step] = {name: tensor.clone() for name, tensor in weights.items()}

    def assert_saved(self, out: Path, *steps: int) -> None:
        assert sorted(int(path.name[11:]) for path in out.glob("checkpoint-*")) == sorted(steps)
        for step in steps:
            manifest.verify(out / f"checkpoint-{step}")
            saved = GPT2LMHeadModel.from_pretrained(out / f"checkpoint-{step}").state_dict()
            assert all(torch.equal(saved[name], tensor) for name, tensor in self.weights[step].items()), step


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def fast(**settings: Any) -> Stallfree:
    return Stallfree(**{"cadence": EverySteps(8), "make_saver": OverlappedSaver, **settings})


def as_vit(trainer: Trainer) -> None:
    """A model that is saved under other names than it has in memory."""
    torch.manual_seed(0)
    config = ViTConfig(
        image_size=8,
        patch_size=4,
        num_channels=1,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
    )
    trainer.model = trainer.model_wrapped = ViTForImageClassification(config)
    trainer.train_dataset = Pictures()


def as_bfloat16(trainer: Trainer) -> None:
    assert trainer.model is not None
    trainer.model.bfloat16()


@pytest.mark.parametrize("change", [lambda trainer: None, as_vit, as_bfloat16], ids=["gpt2", "vit", "bfloat16"])
@pytest.mark.parametrize("arguments", [{}, {"save_only_model": True}, {"optim": "adafactor"}, {"optim": "sgd"}])
def test_every_file_is_the_one_that_the_trainer_writes(
    make_trainer: Any, out: Path, change: Any, arguments: Any, caplog: pytest.LogCaptureFixture
) -> None:
    files: dict[Any, dict[str, bytes]] = {}
    for saver in (PlainSaver, OverlappedSaver):
        trainer = make_trainer(fast(make_saver=saver), max_steps=20, **arguments)
        change(trainer)
        trainer.train()
        files[saver] = {
            path.relative_to(out).as_posix(): path.read_bytes()
            for path in out.rglob("checkpoint-*/*")
            if path.name != manifest.NAME
        }
        for checkpoint in list(out.glob("checkpoint-*")):
            manifest.verify(checkpoint)
            checkpoint.rename(out.parent / f"{saver.__name__}-{checkpoint.name}")
    assert files[PlainSaver].keys() == files[OverlappedSaver].keys()
    assert {path.partition("/")[0] for path in files[PlainSaver]} == {f"checkpoint-{step}" for step in (8, 16, 20)}
    differing = {path for path in files[PlainSaver] if files[PlainSaver][path] != files[OverlappedSaver][path]}
    # How long training took stands in the state's log, and is never the same twice.
    assert {Path(path).name for path in differing} <= {"trainer_state.json"}
    assert PLAINLY not in caplog.text


def test_training_goes_on_while_a_checkpoint_of_its_past_is_written(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_write, write = threading.Event(), direct.write_durably
    seen: list[tuple[int, list[str]]] = []
    heard: list[Event] = []

    def write_later(*args: Any) -> None:
        assert may_write.wait(60)
        write(*args)

    class Look(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            if state.global_step in (9, 15):
                seen.append((state.global_step, [type(event).__name__ for event in heard]))
            if state.global_step == 15:
                may_write.set()

    monkeypatch.setattr(direct, "write_durably", write_later)
    noting = Noting()
    make_trainer(fast(sink=heard.append), noting, Look()).train()
    assert seen == [(9, []), (15, [])], "no event before the checkpoint is durable"
    noting.assert_saved(out, 8, 16, 24)


def test_a_save_waits_for_the_one_before_it(make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = direct.write_durably
    under_way: list[str] = []

    def write_alone(path: Path, *args: Any) -> None:
        under_way.append(path.parent.name)
        write(path, *args)
        assert set(under_way) == {path.parent.name}, "two at a time"
        under_way.remove(path.parent.name)

    monkeypatch.setattr(direct, "write_durably", write_alone)
    noting = Noting()
    make_trainer(fast(cadence=EverySteps(1)), noting, max_steps=6).train()
    noting.assert_saved(out, 1, 2, 3, 4, 5, 6)


def test_weights_that_every_forward_pass_changes_are_those_of_the_step_that_is_saved(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noting = Noting()
    trainer = make_trainer(fast(cadence=EverySteps(3)), noting, max_steps=9)

    def change(module: torch.nn.Module, *_: Any) -> None:
        with torch.no_grad():
            trainer.model.transformer.ln_f.bias.add_(1)

    trainer.model.register_forward_pre_hook(change)
    trainer.train()
    noting.assert_saved(out, 3, 6, 9)
    assert caplog.text == ""


def test_a_weight_that_changes_under_a_copy_makes_no_checkpoint_and_is_expected_from_then_on(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    has_changed, write = threading.Event(), direct.write_durably

    def change(**objects: Any) -> None:
        with torch.no_grad():
            objects["model"].transformer.ln_f.bias.add_(1)
        has_changed.set()

    def write_then(*args: Any) -> None:
        assert has_changed.wait(60)
        write(*args)

    monkeypatch.setattr(direct, "write_durably", write_then)
    noting = Noting()
    make_trainer(fast(cadence=EverySteps(5)), noting, At("on_step_begin", {5, 10}, change)).train()
    noting.assert_saved(out, 10, 15, 20, 24)
    assert "Step 5 is not saved: transformer.ln_f.bias changed" in caplog.text
    assert caplog.text.count("is not saved") == 1
    assert list((out / ".staging").iterdir()) == []


def test_state_that_moves_or_grows_is_laid_out_again(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def move(**objects: Any) -> None:
        for parameter in objects["model"].parameters():
            parameter.data = parameter.data.clone()

    def grow(**objects: Any) -> None:
        for state in objects["optimizer"].state.values():
            state["average"] = torch.ones(5000)

    noting = Noting()
    changes = At("on_step_end", {9}, move), At("on_step_begin", {17}, grow)
    make_trainer(fast(), noting, *changes).train()
    noting.assert_saved(out, 8, 16, 24)
    optimizer = torch.load(out / "checkpoint-24" / "optimizer.pt")
    assert all(torch.equal(state["average"], torch.ones(5000)) for state in optimizer["state"].values())
    assert PLAINLY not in caplog.text


class WithItsOwnSave(Trainer):
    def save_model(self, *args: Any, **named: Any) -> None:
        super().save_model(*args, **named)


class ScheduleFree(torch.optim.SGD):
    def eval(self) -> None: ...

    def train(self) -> None: ...


def _own_save(trainer: Trainer) -> None:
    trainer.__class__ = WithItsOwnSave


def _own_optimizer(trainer: Trainer) -> None:
    assert trainer.model is not None
    trainer.optimizer = ScheduleFree(trainer.model.parameters(), lr=0.1)


class Subclass(torch.Tensor):
    pass


def _state_of_a_special_kind(trainer: Trainer) -> None:
    def specialise(optimizer: Any, *_: Any) -> None:
        for state in optimizer.state.values():
            state["codes"] = torch.ones(3).as_subclass(Subclass)

    assert trainer.model is not None
    trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=0.1, momentum=0.9)
    trainer.optimizer.register_step_post_hook(specialise)


def _other_memory_order(trainer: Trainer) -> None:
    model: Any = trainer.model
    weight = model.transformer.wpe.weight
    weight.data = weight.data.t().contiguous().t()


NOT_UNDERSTOOD: dict[str, tuple[Callable[[Trainer], None], str]] = {
    "own save": (_own_save, "WithItsOwnSave changes save_model"),
    "schedule-free": (_own_optimizer, "changes the weights between its steps"),
    "special tensors": (_state_of_a_special_kind, "a Subclass is part of its state"),
    "another memory order": (_other_memory_order, "another form than it is trained in"),
}


@pytest.mark.parametrize("kind", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_saved_by_the_trainer_with_one_warning(
    kind: str, make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change, reason = NOT_UNDERSTOOD[kind]
    noting = Noting()
    trainer = make_trainer(fast(), noting)
    change(trainer)
    trainer.train()
    for step in (8, 16, 24):
        manifest.verify(out / f"checkpoint-{step}")
    warnings = [record.getMessage() for record in caplog.records if PLAINLY in record.getMessage()]
    assert len(warnings) == 1 and reason in warnings[0]


def test_without_memory_for_a_copy_training_waits(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def make(**named: Any) -> OverlappedSaver:
        return OverlappedSaver(**named, spare_bytes=lambda: 10_000)

    noting = Noting()
    with caplog.at_level(logging.WARNING):
        make_trainer(fast(make_saver=make), noting).train()
    noting.assert_saved(out, 8, 16, 24)
    assert "10000 are to be had" in caplog.text


def test_a_fault_of_the_writer_ends_training_at_one_of_the_next_steps(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = direct.write_durably

    def fail_once(path: Path, *args: Any) -> None:
        if path.parent.name == "checkpoint-16":
            raise OSError(5, "Input/output error")
        write(path, *args)

    monkeypatch.setattr(direct, "write_durably", fail_once)
    trainer = make_trainer(fast())
    with pytest.raises(SaveFailed, match="step 16 could not be saved; older ones are untouched"):
        trainer.train()
    assert [path.name for path in out.glob("checkpoint-*")] == ["checkpoint-8"]
    assert list((out / ".staging").iterdir()) == []


def test_a_checkpoint_that_was_begun_is_finished_when_training_crashes(make_trainer: Any, out: Path) -> None:
    def crash(**_: Any) -> None:
        raise RuntimeError("training")

    noting = Noting()
    with pytest.raises(RuntimeError, match="training"):
        make_trainer(fast(), noting, At("on_step_begin", {8}, crash)).train()
    noting.assert_saved(out, 8)


def test_killed_anywhere_it_leaves_only_whole_checkpoints(make_trainer: Any, out: Path) -> None:
    found: set[int] = set()

    def train() -> None:
        make_trainer(fast(cadence=EverySteps(1)), max_steps=2).train()

    def check() -> None:
        search = newest_whole(out)
        assert search.passed_over == [], "only whole checkpoints ever stand there"
        found.add(search.found.step if search.found else 0)
        for checkpoint in out.glob("checkpoint-*"):
            manifest.verify(checkpoint)
            checkpoint.rename(
                checkpoint.parent.parent / f"looked-at-{checkpoint.name}-{len(list(out.parent.iterdir()))}"
            )

    lines = kill_everywhere(train, check, stride=199)
    # The last one lived to its end.
    check()
    assert lines > 1000, "the kills must have reached into the writing"
    assert found == {0, 1, 2}


def test_stall_and_time_to_durable_are_told_apart(make_trainer: Any) -> None:
    heard: list[Event] = []
    make_trainer(fast(sink=heard.append)).train()
    saved = [event for event in heard if isinstance(event, Saved)]
    assert [event.step for event in saved] == [8, 16, 24]
    assert all(0 < event.stall_seconds < event.durable_seconds for event in saved)


def test_there_is_never_more_memory_to_be_had_than_the_host_has() -> None:
    total = int(Path("/proc/meminfo").read_text().split()[1]) * 1024
    assert 0 < pages.available_bytes() < total
