"""What kinds of models are saved while training goes on, and what happens to all others."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import LoraConfig, get_peft_model
from stallfree.checkpoint import manifest
from transformers import Trainer, ViTConfig, ViTForImageClassification
from transformers.trainer_utils import HubStrategy
from watching import PLAINLY, At, fast, files_of_each_saver


class Pictures(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        pixels = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(number))
        return {"pixel_values": pixels, "labels": torch.tensor(number % 2)}


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


def with_adapters(trainer: Trainer) -> None:
    """Two of them, as peft makes them; one also trains a part of the model in full."""
    model: Any = get_peft_model(trainer.model, _lora(r=4, modules_to_save=["lm_head"]))  # type: ignore[arg-type]
    torch.manual_seed(1)
    model.add_adapter("second", _lora(r=2))
    trainer.model = trainer.model_wrapped = model


def with_an_adapter_of_its_own(trainer: Trainer) -> None:
    """As transformers itself adds one, without a model of peft's around it."""
    model: Any = trainer.model
    model.add_adapter(_lora(r=4))


def _lora(**settings: Any) -> LoraConfig:
    return LoraConfig(target_modules=["c_attn"], fan_in_fan_out=True, init_lora_weights="gaussian", **settings)


class Bare(torch.nn.Module):
    """Neither transformers nor peft know how to save this."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = torch.nn.Embedding(32, 16)
        self.norm = torch.nn.BatchNorm1d(16)
        self.head = torch.nn.Linear(16, 32)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor, **_: Any) -> dict[str, torch.Tensor]:
        logits = self.head(self.norm(self.embed(input_ids).flatten(0, 1)))
        return {"loss": torch.nn.functional.cross_entropy(logits, labels.flatten()), "logits": logits}


def bare(trainer: Trainer) -> None:
    trainer.model = trainer.model_wrapped = Bare()


KINDS: dict[str, Callable[[Trainer], None]] = {
    "gpt2": lambda trainer: None,
    "vit": as_vit,
    "bfloat16": as_bfloat16,
    "two adapters": with_adapters,
    "an adapter of its own": with_an_adapter_of_its_own,
    "plain module": bare,
}


@pytest.mark.parametrize("arguments", [{}, {"save_only_model": True}], ids=["", "only model"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_the_one_that_the_trainer_writes(
    kind: str, arguments: Any, make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files_of_each_saver(make_trainer, KINDS[kind], out, **arguments)
    assert PLAINLY not in caplog.text


def test_an_adapter_that_changes_its_settings_is_saved_with_the_new_ones(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def change(**objects: Any) -> None:
        objects["model"].peft_config["default"].lora_alpha = 99

    trainer = make_trainer(fast(), At("on_step_begin", {10}, change))
    with_adapters(trainer)
    trainer.train()
    saved = {
        step: json.loads((out / f"checkpoint-{step}" / "adapter_config.json").read_text())["lora_alpha"]
        for step in (8, 16, 24)
    }
    assert saved == {8: 8, 16: 99, 24: 99}
    assert PLAINLY not in caplog.text


def test_an_adapter_that_is_added_on_the_way_is_saved_from_then_on(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def add(**objects: Any) -> None:
        objects["model"].add_adapter("late", _lora(r=2))

    trainer = make_trainer(fast(), At("on_step_begin", {10}, add))
    with_adapters(trainer)
    trainer.train()
    folders = [out / f"checkpoint-{step}" / "late" for step in (8, 16, 24)]
    assert [(folder / "adapter_model.safetensors").is_file() for folder in folders] == [False, True, True]
    assert PLAINLY not in caplog.text


class WithItsOwnSave(Trainer):
    def save_model(self, *args: Any, **named: Any) -> None:
        super().save_model(*args, **named)


def _own_save(trainer: Trainer) -> None:
    trainer.__class__ = WithItsOwnSave


def _other_memory_order(trainer: Trainer) -> None:
    model: Any = trainer.model
    weight = model.transformer.wpe.weight
    weight.data = weight.data.t().contiguous().t()


def _pushed(trainer: Trainer) -> None:
    trainer.args.push_to_hub = True
    # At the end, by a call of the script's own: nothing is pushed from here.
    trainer.args.hub_strategy = HubStrategy.END


NOT_UNDERSTOOD: dict[str, tuple[Callable[[Trainer], None], str]] = {
    "own save": (_own_save, "WithItsOwnSave changes save_model"),
    "another memory order": (_other_memory_order, "another form than it is trained in"),
    "pushed to the hub": (_pushed, "pushed to the hub"),
}


@pytest.mark.parametrize("kind", NOT_UNDERSTOOD)
def test_what_is_not_understood_is_saved_by_the_trainer_with_one_warning(
    kind: str, make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change, reason = NOT_UNDERSTOOD[kind]
    trainer = make_trainer(fast())
    change(trainer)
    trainer.train()
    for step in (8, 16, 24):
        manifest.verify(out / f"checkpoint-{step}")
    warnings = [record.getMessage() for record in caplog.records if PLAINLY in record.getMessage()]
    assert len(warnings) == 1 and reason in warnings[0]
