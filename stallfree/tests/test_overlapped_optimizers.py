"""Any optimizer's state is saved while training goes on, and its changes of shape are noticed."""

import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from stallfree.cadence import EverySteps
from stallfree.saving.context import SaverContext
from stallfree.saving.images import torch_layout
from stallfree.saving.overlapped import OverlappedSaver
from transformers import Trainer
from watching import PLAINLY, At, Noting, fast, files_of_each_saver


class Special(torch.Tensor):
    """A tensor that is more than its values."""


class Quantized(torch.Tensor):
    """A tensor without memory of its own: codes and a scale stand for it, as in torchao's optimizers."""

    codes: torch.Tensor
    scale: torch.Tensor

    @staticmethod
    def __new__(cls, codes: torch.Tensor, scale: torch.Tensor) -> "Quantized":
        return torch.Tensor._make_wrapper_subclass(cls, codes.shape, dtype=torch.float32)

    def __init__(self, codes: torch.Tensor, scale: torch.Tensor) -> None:
        self.codes, self.scale = codes, scale

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["codes", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, parts: Any, *_: Any) -> "Quantized":
        return cls(parts["codes"], parts["scale"])

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        if func is torch.ops.aten.detach.default:
            return cls(args[0].codes, args[0].scale)
        raise NotImplementedError(str(func))


class KeepsAFile:
    """SavePolicy tensors into bytes of its own while it is pickled."""

    def __init__(self, weight: torch.Tensor) -> None:
        self.weight = weight

    def __reduce__(self) -> tuple[Any, ...]:
        file = io.BytesIO()
        torch.save(self.weight, file)
        return bytes, (file.getvalue(),)


class EightBit(torch.optim.Optimizer):
    """Momentum in eight bits, with one scale for each weight: and the odd things that such optimizers keep."""

    def __init__(self, parameters: Iterator[torch.nn.Parameter], *, as_tensors_of_their_own: bool) -> None:
        super().__init__(parameters, {"lr": 0.05, "betas": (0.9, 0.99), "note": "not a tensor"})
        self._as_tensors_of_their_own = as_tensors_of_their_own
        self._code = torch.linspace(-1, 1, 256)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(self.state[parameter], parameter, group)

    def _update(self, state: dict[str, Any], parameter: torch.nn.Parameter, group: dict[str, Any]) -> None:
        if not state:
            state.update(steps=0, codes=torch.zeros_like(parameter, dtype=torch.uint8), code=self._code)
            state.update(scale=torch.ones(()), history=[], special=torch.ones(3).as_subclass(Special))
        average = (state["codes"].float() - 127) / 127 * state["scale"]
        average = average * group["betas"][0] + parameter.grad
        state["scale"] = average.abs().max() + 1e-8
        state["codes"].copy_((average / state["scale"] * 127 + 127).round())
        state["steps"] += 1
        state["history"].append((state["steps"], float(state["scale"])))
        state["file"] = KeepsAFile(average)
        if self._as_tensors_of_their_own:
            state["quantized"] = Quantized(state["codes"], state["scale"])
        parameter.sub_(average, alpha=group["lr"])


def eight_bit(**settings: Any) -> Callable[[Trainer], None]:
    def change(trainer: Trainer) -> None:
        assert trainer.model is not None
        trainer.optimizer = EightBit(trainer.model.parameters(), **settings)

    return change


KINDS: dict[str, tuple[Callable[[Trainer], None], dict[str, Any]]] = {
    "adafactor": (lambda trainer: None, {"optim": "adafactor"}),
    "sgd": (lambda trainer: None, {"optim": "sgd"}),
    "eight bits": (eight_bit(as_tensors_of_their_own=False), {}),
    "tensors made of parts": (eight_bit(as_tensors_of_their_own=True), {}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_file_is_the_one_that_the_trainer_writes(
    kind: str, make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    change, arguments = KINDS[kind]
    files_of_each_saver(make_trainer, change, out, **arguments)
    assert "waits" not in caplog.text


def test_what_cannot_be_laid_out_is_written_by_pytorch_before_the_next_step_changes_it(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As a PyTorch would appear whose files have another shape than is known here.
    monkeypatch.setattr(torch_layout, "_DESCRIPTOR", b"new!")
    files_of_each_saver(make_trainer, lambda trainer: None, out)
    slow = [line for line in caplog.messages if line.startswith("Training waits at its next step")]
    assert len(slow) == 1 and "in an unknown way" in slow[0]
    assert PLAINLY not in caplog.text


def saved(out: Path, step: int) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(out / f"checkpoint-{step}" / "optimizer.pt", weights_only=True)
    return state


def test_state_that_grows_is_laid_out_again(make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture) -> None:
    def grow(**objects: Any) -> None:
        for state in objects["optimizer"].state.values():
            state["average"] = torch.ones(5000)

    noting = Noting()
    make_trainer(fast(), noting, At("on_step_begin", {17}, grow)).train()
    noting.assert_saved(out, 8, 16, 24)
    assert all(torch.equal(state["average"], torch.ones(5000)) for state in saved(out, 24)["state"].values())
    assert "waits" not in caplog.text


def test_state_that_grows_beyond_the_memory_there_is_is_written_by_pytorch(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spare_bytes = [10_000_000]

    def grow(**objects: Any) -> None:
        spare_bytes[0] = 10_000
        for state in objects["optimizer"].state.values():
            state["average"] = torch.ones(100_000)

    def make(context: SaverContext) -> OverlappedSaver:
        return OverlappedSaver(context, spare_bytes=lambda: spare_bytes[0])

    noting = Noting()
    make_trainer(fast(make_saver=make), noting, At("on_step_begin", {17}, grow)).train()
    noting.assert_saved(out, 8, 16, 24)
    assert all(torch.equal(state["average"], torch.ones(100_000)) for state in saved(out, 24)["state"].values())
    slow = [line for line in caplog.messages if line.startswith("Training waits at its next step")]
    assert len(slow) == 1 and "10000 are to be had" in slow[0]


def test_a_layer_that_is_unfrozen_on_the_way_is_saved_with_its_optimizer_state(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noting = Noting()

    def unfreeze(**objects: Any) -> None:
        head = objects["model"].transformer.ln_f
        head.requires_grad_(True)
        objects["optimizer"].add_param_group({"params": list(head.parameters()), "lr": 1e-3})

    def freeze_and_train(trainer: Any) -> None:
        trainer.model.transformer.ln_f.requires_grad_(False)
        parameters = [parameter for parameter in trainer.model.parameters() if parameter.requires_grad]
        trainer.optimizer = torch.optim.AdamW(parameters, lr=1e-3)
        trainer.lr_scheduler = torch.optim.lr_scheduler.ConstantLR(trainer.optimizer)
        trainer.train()

    freeze_and_train(make_trainer(fast(), noting, At("on_step_begin", {10}, unfreeze)))
    noting.assert_saved(out, 8, 16, 24)
    before, after = saved(out, 8), saved(out, 24)
    assert [len(state["param_groups"]) for state in (before, after)] == [1, 2]
    assert len(after["state"]) == len(before["state"]) + 2
    assert "waits" not in caplog.text


class ScheduleFree(torch.optim.SGD):
    """Its weights are others for evaluation than for training."""

    def _move(self, distance: float) -> None:
        with torch.no_grad():
            for group in self.param_groups:
                for parameter in group["params"] if group.get("evaluates", False) != (distance > 0) else []:
                    parameter.add_(distance)
                group["evaluates"] = distance > 0

    def eval(self) -> None:
        self._move(1.0)

    def train(self) -> None:
        self._move(-1.0)


def test_weights_that_an_optimizer_changes_for_evaluation_are_copied_before_training_goes_on(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noting = Noting("on_evaluate")
    trainer = make_trainer(fast(cadence=EverySteps(6)), noting, eval_strategy="steps", eval_steps=6, max_steps=18)
    trainer.optimizer = ScheduleFree(trainer.model.parameters(), lr=0.1)
    trainer.train()
    noting.assert_saved(out, 6, 12, 18)
    assert caplog.text == ""
