"""Saved by two processes and loaded by one, and the other way round."""

import shutil
from pathlib import Path

from rich.console import Console

from tools.figures import Figure
from tools.proofs.deepspeed.running import KILLED_AT, Failed, losses_of, reported_by, train
from tools.proofs.deepspeed.training import STEPS

_CLOSE = 1e-5
"""Of a loss: the same sums in another order."""


def on_other_counts(stage: int, scratch: Path, console: Console) -> list[Figure]:
    other_bits, farthest = 0, 0.0
    for saved_by, loaded_by in ((2, 1), (1, 2)):
        console.print(f"ZeRO {stage}: saved by {saved_by}, loaded by {loaded_by} ...")
        folder = scratch / f"by-{saved_by}"
        # Its random numbers are drawn by each process for itself.
        train(folder, stage, "--dropout=0", processes=saved_by)
        (saved,) = reported_by(folder, rf"State\(step={KILLED_AT}, (.*)\)")
        expected = losses_of(folder)
        shutil.rmtree(folder / f"checkpoint-{STEPS}")
        train(folder, stage, "--dropout=0", "--resume", processes=loaded_by)
        if not reported_by(folder, rf"is converted from {saved_by} to {loaded_by} processes"):
            raise Failed(f"nothing was converted in {folder}")
        other_bits += reported_by(folder, rf"State\(step={KILLED_AT}, (.*)\)") != [saved]
        farthest = max(farthest, *(abs(loss / expected[step] - 1) for step, loss in losses_of(folder).items()))
    return [
        Figure(
            f"ZeRO {stage}: on another count, loaded with other bits", other_bits, "trainings", "none", not other_bits
        ),
        Figure(
            f"ZeRO {stage}: on another count, losses after it off by at most",
            farthest,
            "of the loss",
            f"{_CLOSE:g}",
            farthest <= _CLOSE,
        ),
    ]
