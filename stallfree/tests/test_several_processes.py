"""Under torchrun itself (test_two_processes.py forks as it would): one checkpoint with every part, and one end."""

import os
import subprocess
import sys
from pathlib import Path

from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_whole

import stallfree

_SCRIPT = """
import os, signal, sys
import torch
from stallfree.cadence import EverySteps
from stallfree.callback import Stallfree
from stallfree.saving.overlapped import OverlappedSaver
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 48
    def __getitem__(self, number):
        tokens = torch.randint(0, 32, (8,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}

class OnlyOneIsTold(TrainerCallback):
    def on_step_begin(self, args, state, control, **_):
        if state.global_step == 6 and os.environ["RANK"] == "1":
            os.kill(os.getpid(), signal.SIGTERM)

torch.manual_seed(0)
config = GPT2Config(vocab_size=32, n_positions=8, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
arguments = TrainingArguments(sys.argv[1], max_steps=12, per_device_train_batch_size=2, use_cpu=True,
                              ddp_backend="gloo", disable_tqdm=True)
trainer = Trainer(model=GPT2LMHeadModel(config), args=arguments, train_dataset=Numbers(),
                  callbacks=[Stallfree(cadence=EverySteps(4), keep=1, make_saver=OverlappedSaver), OnlyOneIsTold()])
try:
    trainer.train()
except SystemExit as stopped:
    open(os.path.join(sys.argv[1], f"left-{os.environ['RANK']}"), "w").write(str(stopped.code))
"""


def test_a_signal_to_one_process_stops_all_after_the_same_step_with_one_whole_checkpoint(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_SCRIPT)
    out = tmp_path / "out"
    _torchrun(tmp_path / "train.py", out)
    assert [(out / f"left-{rank}").read_text() for rank in (0, 1)] == ["143", "143"]
    found = newest_whole(out).found
    assert found is not None and found.step == 7
    listed = {file.path for file in manifest.read(found.path).files}
    assert {"rng_state_0.pth", "rng_state_1.pth", "model.safetensors", "optimizer.pt"} <= listed
    assert [path.name for path in out.glob("checkpoint-*")] == ["checkpoint-7"]


def _torchrun(script: Path, out: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", str(script), str(out)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(stallfree.__file__).parents[1]),
            "OMP_NUM_THREADS": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout
