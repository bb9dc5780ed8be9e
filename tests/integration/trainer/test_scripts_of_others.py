"""Scripts as others write them, run as they are under Belay: killed half-way, started again, and none the worse.

Three have the shape of the official examples of transformers, which no released package holds; the fourth is trl's own.
"""

import fcntl
import json
import os
import runpy
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import config as datasets_config
from PIL import Image
from stallfree.checkpoint import manifest
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    PreTrainedTokenizerFast,
    ViTConfig,
    ViTForImageClassification,
)

from belay.contract.events import Resumed
from containers.trainer.supervision.processes import descendants, send

from .conftest import Scratch, Task

SCRIPTS = Path(__file__).parent / "scripts"
WORDS = ["a", "rope", "holds", "the", "climber", "who", "falls", "and", "belay", "means", "to", "hold", "fast"]
TINY: dict[str, Any] = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
# Enough for the killed one to be held up long before its end: a line a step, and a few kilobytes that nobody reads.
STEPS, KILLED_AFTER_SAVE = 60, 10


@dataclass
class Script:
    arguments: list[str]
    file: str | None = None
    module: str | None = None

    def command(self, data: Path) -> list[str]:
        if self.module:
            return ["python", "-m", self.module, *self.arguments]
        (data / "train.py").write_text((SCRIPTS / str(self.file)).read_text())
        return ["python", "data/train.py", *self.arguments]

    def run_without_belay(self) -> None:
        if self.module:
            runpy.run_module(self.module, run_name="__main__")
        else:
            runpy.run_path(str(SCRIPTS / str(self.file)), run_name="__main__")


def trainers_own(**more: object) -> list[str]:
    settings: dict[str, object] = {
        "max_steps": STEPS,
        "per_device_train_batch_size": 4,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "seed": 7,
        "use_cpu": True,
        "report_to": "none",
        "disable_tqdm": True,
        **more,
    }
    return [word for name, value in settings.items() for word in (f"--{name}", str(value))]


def write_model(folder: Path, model: GPT2LMHeadModel | BertForMaskedLM | ViTForImageClassification) -> str:
    model.save_pretrained(folder)
    return str(folder)


def write_tokenizer(folder: Path) -> int:
    special = {"unk_token": "[UNK]", "pad_token": "[PAD]", "eos_token": "[EOS]", "cls_token": "[CLS]"}
    vocabulary = {word: number for number, word in enumerate([*special.values(), *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    made: Any = PreTrainedTokenizerFast
    made(tokenizer_object=tokenizer, model_max_length=32, **special).save_pretrained(folder)
    return len(vocabulary)


def sentence(number: int) -> str:
    return " ".join(WORDS[(number * step + step) % len(WORDS)] for step in range(1, 5 + number % 9))


def gpt2(folder: Path) -> str:
    size = write_tokenizer(folder)
    return write_model(
        folder,
        GPT2LMHeadModel(
            GPT2Config(vocab_size=size, n_positions=32, n_embd=32, n_layer=2, n_head=2, bos_token_id=2, eos_token_id=2)
        ),
    )


def bert(folder: Path) -> str:
    size = write_tokenizer(folder)
    return write_model(folder, BertForMaskedLM(BertConfig(vocab_size=size, **TINY)))


def text_classification(data: Path) -> Script:
    for name, numbers in (("train", range(64)), ("validation", range(64, 80))):
        rows = [f"{sentence(number)},{'long' if number % 9 > 4 else 'short'}" for number in numbers]
        (data / f"{name}.csv").write_text("\n".join(["sentence,label", *rows]))
    files = ["--train_file", str(data / "train.csv"), "--validation_file", str(data / "validation.csv")]
    model = ["--model_name_or_path", bert(data / "model")]
    own = trainers_own(do_train=True, do_eval=True, eval_strategy="steps", eval_steps=25)
    return Script([*model, *files, *own], file="text_classification.py")


def causal_language_modelling(data: Path) -> Script:
    own = trainers_own(do_train=True, do_eval=True, gradient_accumulation_steps=2, lr_scheduler_type="cosine")
    model = ["--model_name_or_path", gpt2(data / "model")]
    return Script([*model, *_lines_of_text(data), *own], file="language_modelling.py")


def _lines_of_text(data: Path) -> list[str]:
    for name, numbers in (("train", range(200)), ("validation", range(200, 230))):
        (data / f"{name}.txt").write_text("\n".join(map(sentence, numbers)))
    return ["--train_file", str(data / "train.txt"), "--validation_file", str(data / "validation.txt")]


def image_classification(data: Path) -> Script:
    for split, count in (("train", 12), ("validation", 4)):
        for label, shade in (("dark", 40), ("light", 180)):
            folder = data / split / label
            folder.mkdir(parents=True)
            for number in range(count):
                Image.new("RGB", (8, 8), color=(shade + number, shade, 3 * number)).save(folder / f"{number}.png")
    config = ViTConfig(image_size=8, patch_size=4, **TINY)
    model = write_model(data / "model", ViTForImageClassification(config))
    folders = ["--train_dir", str(data / "train"), "--validation_dir", str(data / "validation")]
    own = trainers_own(do_train=True, do_eval=True, remove_unused_columns=False)
    return Script(["--model_name_or_path", model, *folders, *own], file="image_classification.py")


def supervised_fine_tuning(data: Path) -> Script:
    folder = data / "conversations"
    folder.mkdir()
    for name, numbers in (("train", range(64)), ("test", range(64, 72))):
        rows = [
            json.dumps({"prompt": sentence(number), "completion": f" {sentence(number + 1)}"}) for number in numbers
        ]
        (folder / f"{name}.jsonl").write_text("\n".join(rows))
    own = trainers_own(bf16=False, gradient_checkpointing=False, eval_strategy="steps", eval_steps=40, max_length=32)
    named = ["--model_name_or_path", gpt2(data / "model"), "--dataset_name", str(folder), "--dtype", "float32"]
    return Script([*named, *own], module="trl.scripts.sft")


def run_until_saved(task: Task, step: int) -> None:
    """Reads the output line by line. Not read any further, training is held up by a pipe that is soon full."""
    assert task.process.stdout is not None
    fcntl.fcntl(task.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
    said = []
    for line in task.process.stdout:
        said.append(line)
        if line.startswith('{"at"') and (event := json.loads(line))["kind"] == "saved" and event["step"] >= step:
            return
    raise AssertionError("ended before it had saved:\n" + "".join(said))


@pytest.fixture
def without_belay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Script], Path]:
    """The same script with the same arguments in a plain Python, and nobody kills it; the folder that it writes to."""

    def run(script: Script) -> Path:
        monkeypatch.setattr(datasets_config, "HF_DATASETS_CACHE", tmp_path / "plain-cache")
        monkeypatch.setattr(sys, "argv", ["train.py", *script.arguments, "--output_dir", str(tmp_path / "plain")])
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        torch.set_num_threads(1)
        script.run_without_belay()
        return tmp_path / "plain"

    return run


@pytest.mark.parametrize(
    "write", [text_classification, causal_language_modelling, image_classification, supervised_fine_tuning]
)
def test_killed_and_resumed_a_script_of_others_ends_as_if_nothing_had_happened(
    write: Callable[[Path], Script], scratch: Scratch, without_belay: Callable[[Script], Path]
) -> None:
    torch.manual_seed(0)
    script = write(scratch.data)
    command = [*script.command(scratch.data), "--output_dir", str(scratch.files / "out")]
    scratch.plan({"command": command}, checkpoint={"every": f"{KILLED_AFTER_SAVE} steps", "keep": 20})

    first = scratch.start()
    run_until_saved(first, KILLED_AFTER_SAVE)
    send(signal.SIGKILL, descendants(first.process.pid))
    assert first.wait() == 137, first.output
    announced = max(first.steps("saved"))
    assert announced < STEPS

    second = scratch.start()
    assert second.wait() == 0, second.output
    assert "while training waits" not in second.output, "each of them is of the kind that is overlapped"
    [resumed] = [event for event in second.events if isinstance(event, Resumed)]
    assert resumed.step >= announced
    saved = sorted(scratch.checkpoints.iterdir(), key=os.path.getmtime)
    assert [manifest.verify(checkpoint).step for checkpoint in saved][-1] == STEPS

    plain = without_belay(script)
    # Bit for bit: what was saved, and what the script itself wrote at its end.
    for folder in (scratch.checkpoints / f"checkpoint-{STEPS}", scratch.files / "out"):
        assert (folder / "model.safetensors").read_bytes() == (plain / "model.safetensors").read_bytes()
