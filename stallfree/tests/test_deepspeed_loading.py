"""What DeepSpeed cannot load as it stands is converted beside the checkpoints. DeepSpeed itself is a stand-in here."""

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch
import transformers.trainer
from stallfree.loading.deepspeed import OtherNumberOfProcesses, loading_any_count, processes_of
from stallfree.ranks import Ranks

TAG = "global_step8"


def checkpoint_of(*names: str, folder: Path) -> Path:
    checkpoint = folder / "checkpoint-8"
    (checkpoint / TAG).mkdir(parents=True)
    (checkpoint / "latest").write_text(TAG)
    for name in names:
        (checkpoint / TAG / name).touch()
    return checkpoint


def part(number: int, *, of_the_model: int = 0) -> str:
    return f"zero_pp_rank_{number}_mp_rank_{of_the_model:02d}_optim_states.pt"


class Engine:
    """Loads as ZeRO 3 does: all groups get the settings of the first one, all weights one and the same count."""

    def __init__(self, count: int) -> None:
        self.seq_dp_world_size = count
        self._config = SimpleNamespace(load_universal_checkpoint=False)
        self.adam = torch.optim.AdamW([{"params": [torch.zeros(2)]}, {"params": [torch.zeros(3)]}], weight_decay=0.7)
        self.optimizer = SimpleNamespace(optimizer=self.adam)
        self.module = torch.nn.BatchNorm1d(2)
        self.module.bias.requires_grad_(False)
        self.loaded_from: list[tuple[Path, bool]] = []

    def load_checkpoint(self, folder: str, load_module_strict: bool) -> tuple[str, None]:
        self.loaded_from.append((Path(folder), self._config.load_universal_checkpoint))
        assert Path(folder, "latest_universal").read_text() == TAG
        step = torch.tensor(8.0)
        for group in self.adam.param_groups:
            self.adam.state[group["params"][0]] = {"step": step}
        return folder, None


@pytest.fixture
def convert(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """DeepSpeed's converter; what it converted."""
    converted: list[str] = []

    def main(asked: Any) -> None:
        converted.append(asked.input_folder)
        Path(asked.output_folder, "zero").mkdir()
        groups = [{"weight_decay": 0.1, "params": [0]}, {"weight_decay": 0.0, "params": [1]}]
        torch.save({"param_groups": groups}, Path(asked.output_folder, "zero", "optimizer_state.pt"))
        model = torch.nn.BatchNorm1d(2)
        for tensor in model.state_dict().values():
            tensor.fill_(7)
        torch.save({"module": model.state_dict()}, Path(asked.output_folder, "mp_rank_00_model_states.pt"))

    module = ModuleType("deepspeed.checkpoint")
    module.ds_to_universal = SimpleNamespace(main=main)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "deepspeed", ModuleType("deepspeed"))
    monkeypatch.setitem(sys.modules, "deepspeed.checkpoint", module)
    return converted


def load(engine: Engine, checkpoint: Path, scratch: Path) -> None:
    """As the Trainer does."""
    trainer: Any = SimpleNamespace(is_deepspeed_enabled=True)
    with loading_any_count(trainer, scratch, Ranks()):
        vars(transformers.trainer)["deepspeed_load_checkpoint"](engine, str(checkpoint), load_module_strict=True)


def test_what_as_many_saved_is_loaded_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Any] = []
    monkeypatch.setattr(
        transformers.trainer, "deepspeed_load_checkpoint", lambda *what, **how: loaded.append((*what, how))
    )
    checkpoint, engine = checkpoint_of(part(0), part(1), folder=tmp_path), Engine(2)
    load(engine, checkpoint, tmp_path)
    assert loaded == [(engine, str(checkpoint), {"load_module_strict": True})]


def test_what_two_saved_is_converted_for_three_beside_the_checkpoint(tmp_path: Path, convert: list[str]) -> None:
    checkpoint, engine, scratch = checkpoint_of(part(0), part(1), folder=tmp_path), Engine(3), tmp_path / ".staging"
    before = sorted(checkpoint.rglob("*"))
    load(engine, checkpoint, scratch)
    assert convert == [str(checkpoint / TAG)]
    assert engine.loaded_from == [(scratch / "universal-checkpoint-8", True)]
    assert sorted(checkpoint.rglob("*")) == before and list(scratch.iterdir()) == []
    assert not engine._config.load_universal_checkpoint


def test_each_group_gets_its_own_settings_and_each_weight_its_own_count(tmp_path: Path, convert: list[str]) -> None:
    engine = Engine(1)
    load(engine, checkpoint_of(part(0), part(1), folder=tmp_path), tmp_path / ".staging")
    assert [group["weight_decay"] for group in engine.adam.param_groups] == [0.1, 0.0]
    assert [group["params"][0].numel() for group in engine.adam.param_groups] == [2, 3]
    steps = [state["step"] for state in engine.adam.state.values()]
    torch._foreach_add_(steps, 1)
    assert [float(step) for step in steps] == [9.0, 9.0]


def test_buffers_and_frozen_weights_are_loaded_too_and_trained_ones_left_to_deepspeed(
    tmp_path: Path, convert: list[str]
) -> None:
    engine = Engine(1)
    load(engine, checkpoint_of(part(0), part(1), folder=tmp_path), tmp_path / ".staging")
    loaded = {name: tensor.tolist() for name, tensor in engine.module.state_dict().items()}
    seven = [7.0, 7.0]
    assert loaded == {
        "weight": [1.0, 1.0],
        "bias": seven,
        "running_mean": seven,
        "running_var": seven,
        "num_batches_tracked": 7,
    }


def test_what_cannot_be_converted_is_an_error_that_says_what_to_do(
    tmp_path: Path, convert: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def main(asked: Any) -> None:
        raise KeyError("exp_avg")

    monkeypatch.setattr(sys.modules["deepspeed.checkpoint"].ds_to_universal, "main", main)
    checkpoint, scratch = checkpoint_of(part(0), part(1), folder=tmp_path), tmp_path / ".staging"
    with pytest.raises(OtherNumberOfProcesses, match=r"from 2 to 1 processes: KeyError\('exp_avg'\).* saved it: 2"):
        load(Engine(1), checkpoint, scratch)
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    ("names", "count"),
    [
        ([part(0), part(1)], 2),
        (["bf16_" + part(0)], 1),
        ([part(0), part(0, of_the_model=1)], None),
        ([part(0), "expp_rank_0_mp_rank_00_optim_states.pt"], None),
        ([part(0), part(2)], None),
        ([], None),
    ],
)
def test_only_what_zero_alone_divides_is_counted(names: list[str], count: int | None, tmp_path: Path) -> None:
    assert processes_of(checkpoint_of(*names, folder=tmp_path)) == count
