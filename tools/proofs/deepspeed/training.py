"""A script as any user of DeepSpeed would write it, and the one line. Run by torchrun."""

import argparse
import os
import time
import zlib
from pathlib import Path
from typing import Any

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments, set_seed

from stallfree import Stallfree

STEPS, SAVE_EVERY = 12, 4
_BATCH = 4
"""Of all processes together: any number of them is to train the same."""


class Numbers(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 96

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        tokens = torch.randint(0, 64, (8,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}


class Telling(TrainerCallback):
    """The state when it was loaded, and once on the way; when a save begins; how long training stood still for it."""

    reads_checkpoints = False

    def __init__(self, told_at: int) -> None:
        self._told_at = told_at

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        if state.global_step:
            self._tell(state, objects)

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        if state.global_step == self._told_at:
            self._tell(state, objects)

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        self._began = time.perf_counter()
        if state.is_world_process_zero and control.should_save:
            print(f"Saving(step={state.global_step})", flush=True)

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if state.is_world_process_zero:
            print(f"Blocked(seconds={time.perf_counter() - self._began:.4f})", flush=True)

    def _tell(self, state: Any, objects: dict[str, Any]) -> None:
        digest = _digest_of(objects["model"], objects["optimizer"])
        if state.is_world_process_zero:
            print(f"State(step={state.global_step}, {digest})", flush=True)


def _digest_of(model: torch.nn.Module, optimizer: Any) -> str:
    """Of all weights and moments, put together from all processes, and of what the optimizer is set to."""
    from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state

    zero = optimizer.optimizer
    if hasattr(zero, "_lazy_init_hp_params_optimizer_state"):
        # After a load ZeRO 1 and 2 do not know yet which moments are whose.
        zero._hp_optimizer_states_linked = False
        zero._lazy_init_hp_params_optimizer_state()
    value = 0
    for weight in model.parameters():
        moments = [safe_get_full_optimizer_state(weight, name) for name in ("exp_avg", "exp_avg_sq")]
        for tensor in (safe_get_full_fp32_param(weight), *moments):
            value = zlib.crc32(tensor.contiguous().view(torch.uint8).numpy(), value)
    adam = zero.optimizer
    settings = [{name: kept for name, kept in group.items() if name != "params"} for group in adam.param_groups]
    steps = sorted({float(kept["step"]) for kept in adam.state.values()})
    return f"{value:08x} {zlib.crc32(repr(settings).encode()):08x} {steps}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stage", type=int, required=True)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--save-every", type=int, default=SAVE_EVERY)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument(
        "--dropout", type=float, default=0.1, help="its random numbers depend on how many processes draw"
    )
    parser.add_argument("--plainly", action="store_true", help="the Trainer and DeepSpeed alone")
    chosen = parser.parse_args()
    each = _BATCH // int(os.environ["WORLD_SIZE"])
    arguments = TrainingArguments(
        str(chosen.folder),
        per_device_train_batch_size=each,
        max_steps=STEPS,
        save_steps=chosen.save_every,
        save_total_limit=None if chosen.width == 64 else 1,
        logging_steps=1,
        # Biases and norms have none: the optimizer has two groups.
        weight_decay=0.1,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        deepspeed={
            "zero_optimization": {
                "stage": chosen.stage,
                # Without it ZeRO 3 leaves the weights in their shards, and no other program reads them.
                "stage3_gather_16bit_weights_on_model_save": True,
            },
            "train_micro_batch_size_per_gpu": each,
            "gradient_accumulation_steps": 1,
            "zero_allow_untested_optimizer": True,
        },
    )
    set_seed(arguments.seed)
    sizes = {"vocab_size": 64, "n_positions": 16, "n_embd": chosen.width, "n_layer": 2, "n_head": 2}
    dropout = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), chosen.dropout)
    model = GPT2LMHeadModel(GPT2Config(**sizes, **dropout, bos_token_id=0, eos_token_id=0))
    # Where all is compared to the last bit: nothing else is to come between a step and its save.
    told_at = STEPS - SAVE_EVERY if chosen.dropout == 0 else 0
    callbacks: list[TrainerCallback] = [] if chosen.plainly else [Stallfree(sink=print)]
    trainer = Trainer(model, arguments, train_dataset=Numbers(), callbacks=[*callbacks, Telling(told_at)])
    trainer.train(resume_from_checkpoint=chosen.resume)


if __name__ == "__main__":
    main()
