"""The examples are what they say, and their jobs are accepted as they stand."""

import json
from pathlib import Path

import pytest
from datasets import load_dataset
from PIL import Image
from transformers import AutoTokenizer

from belay.contract.faults import parse_job
from examples.data import digits, topics

EXAMPLES = Path(digits.__file__).parents[1]


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.json")), ids=lambda file: file.name)
def test_an_example_job_is_accepted(file: Path) -> None:
    job = parse_job(json.loads(file.read_text()))
    assert job.name == file.stem and job.dataset.s3 == f"datasets/{file.stem}/"


def test_digits_are_images_by_class(tmp_path: Path) -> None:
    digits.write(tmp_path)
    assert len(list(tmp_path.glob("train/*/*.png"))) == 1437
    assert len(list(tmp_path.glob("test/*/*.png"))) == 360
    assert {folder.name for folder in (tmp_path / "train").iterdir()} == set("0123456789")
    with Image.open(next(tmp_path.glob("train/7/*.png"))) as image:
        assert image.size == (8, 8) and image.getextrema() == (0, 255)


def test_topics_are_texts_with_a_tokenizer(tmp_path: Path) -> None:
    topics.write(tmp_path / "topics")
    files = {split: str(tmp_path / "topics" / f"{split}.parquet") for split in ("train", "test")}
    splits = load_dataset("parquet", data_files=files, cache_dir=str(tmp_path / "cache"))
    assert len(splits["train"]) > 10 * len(splits["test"]) > 0
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "topics" / "tokenizer")
    text = splits["test"][0]["text"]
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text
