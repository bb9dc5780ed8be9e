"""A script as any user of DeepSpeed would write it, and the one line. Run by torchrun."""

import argparse
from pathlib import Path

import torch
from stallfree import Stallfree
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed

STEPS, SAVE_EVERY = 12, 4


class Numbers(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 96

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        tokens = torch.randint(0, 64, (8,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stage", type=int, required=True)
    parser.add_argument("--resume", action="store_true")
    chosen = parser.parse_args()
    arguments = TrainingArguments(
        str(chosen.folder),
        per_device_train_batch_size=2,
        max_steps=STEPS,
        save_steps=SAVE_EVERY,
        logging_steps=1,
        use_cpu=True,
        report_to=[],
        disable_tqdm=True,
        deepspeed={
            "zero_optimization": {
                "stage": chosen.stage,
                # Without it ZeRO 3 leaves the weights in their shards, and no other program reads them.
                "stage3_gather_16bit_weights_on_model_save": True,
            },
            "train_micro_batch_size_per_gpu": 2,
            "gradient_accumulation_steps": 1,
            "zero_allow_untested_optimizer": True,
        },
    )
    set_seed(arguments.seed)
    model = GPT2LMHeadModel(
        GPT2Config(vocab_size=64, n_positions=16, n_embd=64, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    )
    trainer = Trainer(model, arguments, train_dataset=Numbers(), callbacks=[Stallfree(sink=print)])
    trainer.train(resume_from_checkpoint=chosen.resume)


if __name__ == "__main__":
    main()
