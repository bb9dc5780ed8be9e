"""What a resume must never do: train on from weights that were not saved."""

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from stallfree.callback import Stallfree
from stallfree.loading.weights import WeightsDoNotFit
from transformers import Trainer, TrainerCallback, TrainingArguments, ViTConfig, ViTForImageClassification

pytestmark = pytest.mark.usefixtures("each_saver")


class Pictures(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 32

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        pixels = torch.rand(1, 8, 8, generator=torch.Generator().manual_seed(number))
        return {"pixel_values": pixels, "labels": torch.tensor(number % 4)}


class StopAt(TrainerCallback):
    def __init__(self, step: int) -> None:
        self._step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        control.should_training_stop = state.global_step >= self._step


def vit() -> ViTForImageClassification:
    torch.manual_seed(0)
    config = ViTConfig(
        image_size=8,
        patch_size=4,
        num_channels=1,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
    )
    config.num_labels = 4
    return ViTForImageClassification(config)


def trainer(folder: Path, *callbacks: Any, **arguments: Any) -> Trainer:
    settings: dict[str, Any] = {
        "output_dir": str(folder),
        "max_steps": 16,
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-2,
        "save_steps": 4,
        "use_cpu": True,
        "disable_tqdm": True,
        "report_to": "none",
        **arguments,
    }
    return Trainer(
        model=vit(),
        args=TrainingArguments(**settings),
        train_dataset=Pictures(),
        eval_dataset=Pictures(),
        callbacks=list(callbacks),
    )


def weights(of: Trainer) -> dict[str, torch.Tensor]:
    assert isinstance(of.model, torch.nn.Module)
    return {name: tensor.clone() for name, tensor in of.model.state_dict().items()}


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_a_model_that_is_saved_under_other_names_resumes_bitwise(tmp_path: Path) -> None:
    whole = trainer(tmp_path / "whole", Stallfree())
    whole.train()
    first = trainer(tmp_path / "parts", Stallfree(), max_steps=16)
    first.add_callback(StopAt(8))
    first.train()

    second = trainer(tmp_path / "parts", Stallfree())
    second.train(resume_from_checkpoint=True)

    assert same(weights(whole), weights(second))


def test_the_plain_trainer_trains_on_from_random_weights(tmp_path: Path) -> None:
    """If this fails, transformers has fixed it, and `weights.py` may go."""
    whole = trainer(tmp_path)
    whole.train()
    resumed = trainer(tmp_path, max_steps=16)
    resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-16"))

    name = "vit.layers.0.attention.q_proj.weight"
    assert name in weights(whole)
    assert not torch.equal(weights(whole)[name], weights(resumed)[name])


def test_a_checkpoint_that_lacks_a_weight_is_refused_by_name(tmp_path: Path) -> None:
    trainer(tmp_path, Stallfree()).train()
    checkpoint = tmp_path / "checkpoint-16"
    (checkpoint / "checkpoint.manifest.json").unlink()
    file = checkpoint / "model.safetensors"
    kept = {name: tensor for name, tensor in load_file(file).items() if name != "classifier.weight"}
    save_file(kept, file, metadata={"format": "pt"})

    with pytest.raises(WeightsDoNotFit, match=r"classifier\.weight"):
        trainer(tmp_path, Stallfree(), max_steps=20).train(resume_from_checkpoint=str(checkpoint))


def test_the_best_model_is_really_loaded_at_the_end(tmp_path: Path) -> None:
    best = {"eval_strategy": "steps", "eval_steps": 4, "load_best_model_at_end": True, "learning_rate": 0.5}
    trained = trainer(tmp_path, Stallfree(), **best)
    trained.train()

    chosen = trained.state.best_model_checkpoint
    assert chosen
    expected = ViTForImageClassification.from_pretrained(chosen).state_dict()
    assert same(weights(trained), expected)
