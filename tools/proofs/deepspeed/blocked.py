"""How long training stands still for a save, beside the Trainer and DeepSpeed alone."""

import shutil
from pathlib import Path
from statistics import median

from rich.console import Console

from tools.figures import Figure
from tools.proofs.deepspeed.running import Failed, reported_by, train

_SIZE = ("--width=1024", "--save-every=2")
_LEAST_SAVES = 5
_MOST = 0.7


def blocked(stage: int, scratch: Path, console: Console) -> list[Figure]:
    medians = {}
    for name, options in (("ours", _SIZE), ("theirs", (*_SIZE, "--plainly"))):
        console.print(f"ZeRO {stage}: how long saves of 0.4 to 0.5 GB stop training: {name} ...")
        folder = scratch / name
        train(folder, stage, *options)
        seconds = [float(text) for text in reported_by(folder, r"Blocked\(seconds=([0-9.]+)\)")]
        if len(seconds) < _LEAST_SAVES:
            raise Failed(f"{len(seconds)} saves only in {folder}")
        medians[name] = median(seconds)
        shutil.rmtree(folder)
    ratio = medians["ours"] / medians["theirs"]
    return [
        Figure(f"ZeRO {stage}: blocked by a save", medians["ours"], "s", remark="it is on the disk later"),
        Figure(f"ZeRO {stage}: blocked by DeepSpeed's own", medians["theirs"], "s", remark="nothing is flushed"),
        Figure(f"ZeRO {stage}: ours of theirs", ratio, "", f"at most {_MOST}", ratio <= _MOST),
    ]
