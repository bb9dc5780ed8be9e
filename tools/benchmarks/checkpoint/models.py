"""What is trained: a GPT-2 of a given size of state, and three ways to spend the time of a step."""

import os
import time
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from transformers import GPT2Config, GPT2LMHeadModel

# Weight, and the two moments of AdamW.
_STATE_BYTES_PER_PARAMETER = {torch.float32: 12, torch.bfloat16: 6}
_WIDTHS = ((0.05, 64), (0.3, 128), (1.0, 512), (3.0, 768), (10.0, 1024), (20.0, 2048), (float("inf"), 4096))
_VOCABULARY, _SMALL_VOCABULARY, _POSITIONS = 50257, 4096, 1024
_SAMPLES_ON_A_GPU = 16
"""Sixteen thousand tokens are a small share of a step, for one GPU of a training of this size."""
_GPU = "cuda"
_MOST_TOKENS = 256
_TOKENS_AT_1_GB = 96
"""With these a step of a 1 GB state takes about as long on two cores as one that sleeps for half a second."""


@dataclass(frozen=True)
class Computing:
    """`how`: "sleeping" leaves the cores idle, as while a GPU computes; "busy" takes them all; "cuda" is a real GPU."""

    how: str
    seconds: float = 0.5


def config_for(state_gb: float, dtype: torch.dtype = torch.float32) -> GPT2Config:
    """About this much state. At 1.5 GB it is GPT-2 itself, at 4.3 GB the medium one."""
    width = next(width for most, width in _WIDTHS if state_gb < most)
    vocabulary = _VOCABULARY if state_gb >= 0.05 else _SMALL_VOCABULARY
    of_embeddings, of_a_layer = (vocabulary + _POSITIONS) * width, 12 * width**2
    parameters = state_gb * 1e9 / _STATE_BYTES_PER_PARAMETER[dtype]
    layers = max(1, round((parameters - of_embeddings) / of_a_layer))
    return GPT2Config(
        n_layer=layers, n_embd=width, n_head=width // 64, vocab_size=vocabulary, bos_token_id=0, eos_token_id=0
    )


def model_for(state_gb: float, computing: Computing) -> GPT2LMHeadModel:
    if computing.how == "cuda":
        with torch.device(_GPU):
            model: GPT2LMHeadModel = GPT2LMHeadModel._from_config(  # type: ignore[no-untyped-call]
                config_for(state_gb, torch.bfloat16), dtype=torch.bfloat16
            )
        return model
    if computing.how == "busy":
        torch.set_num_threads(os.cpu_count() or 1)
        return GPT2LMHeadModel(config_for(state_gb))
    torch.set_num_threads(1)
    return _Sleeping(config_for(state_gb), computing.seconds)


def tokens_for(state_gb: float, computing: Computing) -> int:
    """The length of a sample: long enough to compute for a while, where it is computed."""
    if computing.how == "cuda":
        return _POSITIONS
    if computing.how == "busy":
        return max(8, min(_MOST_TOKENS, round(_TOKENS_AT_1_GB * computing.seconds / 0.5 / state_gb)))
    return 4


def samples_a_step(computing: Computing) -> int:
    return _SAMPLES_ON_A_GPU if computing.how == "cuda" else 1


class _Waiting(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, seconds: float, gradients: list[torch.Tensor], *parameters: torch.Tensor) -> torch.Tensor:
        ctx.seconds, ctx.gradients = seconds, gradients
        time.sleep(seconds / 3)
        return torch.ones(())

    @staticmethod
    def backward(ctx: Any, *_: torch.Tensor) -> tuple[Any, ...]:
        time.sleep(ctx.seconds * 2 / 3)
        return (None, None, *ctx.gradients)


class _Sleeping(GPT2LMHeadModel):
    """Only waits, but with a gradient for every parameter: the optimizer's step is real and changes every byte.

    The gradients are always the same, and stand where the optimizer looks for them: nothing else works on the CPU.
    Where several processes train, PyTorch must see them come out of the backward pass, and copies them.
    """

    def __init__(self, config: GPT2Config, seconds: float) -> None:
        super().__init__(config)
        self._seconds = seconds
        self._gradients: list[torch.Tensor] = []
        self._anchor = torch.zeros((), requires_grad=True)

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
        gradients, parameters = self._gradients, list[torch.Tensor](self.parameters())
        if not gradients:
            gradients.extend(torch.full_like(parameter, 1e-3) for parameter in parameters)
        if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            gradients, parameters = [torch.zeros(())], [self._anchor]
        return {"loss": _Waiting.apply(self._seconds, gradients, *parameters)}  # type: ignore[no-untyped-call]
