"""A model small enough to train in a test, and data for it."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel


class Numbers(torch.utils.data.Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        tokens = torch.randint(0, 32, (8,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}


def tiny_model(*, width: int = 16) -> GPT2LMHeadModel:
    torch.manual_seed(0)
    return GPT2LMHeadModel(
        GPT2Config(vocab_size=32, n_positions=8, n_embd=width, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
    )
