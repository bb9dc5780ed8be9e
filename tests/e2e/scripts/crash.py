"""A user's own Trainer script, without anything of Belay in it; after some steps it raises, or becomes slow."""

import argparse
import time

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments, ViTConfig, ViTForImageClassification


class Digits(torch.utils.data.Dataset):
    def __len__(self):
        return 256

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return {"pixel_values": torch.rand(1, 8, 8, generator=generator), "labels": torch.tensor(index % 10)}


class CrashOrSlow(TrainerCallback):
    def __init__(self, crash_at, slow_from):
        self.crash_at = crash_at
        self.slow_from = slow_from

    def on_step_begin(self, args, state, control, **kwargs):
        if self.slow_from and state.global_step >= self.slow_from:
            time.sleep(20)

    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == self.crash_at:
            raise RuntimeError("the loss is not a number")


parser = argparse.ArgumentParser()
parser.add_argument("--crash-at", type=int, default=0)
parser.add_argument("--slow-from", type=int, default=0)
parser.add_argument("--steps", type=int, default=40)
options = parser.parse_args()

config = ViTConfig(
    image_size=8,
    patch_size=4,
    num_channels=1,
    hidden_size=16,
    num_hidden_layers=1,
    num_attention_heads=1,
    intermediate_size=16,
    num_labels=10,
)
trainer = Trainer(
    model=ViTForImageClassification(config),
    args=TrainingArguments(
        "out",
        max_steps=options.steps,
        per_device_train_batch_size=8,
        logging_steps=5,
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
    ),
    train_dataset=Digits(),
    callbacks=[CrashOrSlow(options.crash_at, options.slow_from)],
)
trainer.train()
