"""python -m examples.data.topics DEST: the help texts of Python itself as parquet, with a tokenizer made from them."""

import sys
from pathlib import Path
from pydoc_data.topics import topics

from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

_VOCABULARY = 2048
_LONGEST_TEXT = 96
_END = "<end>"


def write(destination: Path) -> None:
    texts = [topics[name] for name in sorted(topics)]
    held_out = texts[::20]
    train = [text for number, text in enumerate(texts) if number % 20]
    destination.mkdir(parents=True, exist_ok=True)
    Dataset.from_dict({"text": train}).to_parquet(destination / "train.parquet")
    Dataset.from_dict({"text": held_out}).to_parquet(destination / "test.parquet")
    tokenizer_from(train).save_pretrained(destination / "tokenizer")


def tokenizer_from(texts: list[str]) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=_VOCABULARY, special_tokens=[_END], show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, eos_token=_END, pad_token=_END, model_max_length=_LONGEST_TEXT
    )


if __name__ == "__main__":
    write(Path(sys.argv[1]))
