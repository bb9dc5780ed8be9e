"""A bf16 model on a GPU: the state leaves it over a side stream, into pinned memory, while it computes on."""

import shutil

import torch
from rich.console import Console
from stallfree.memory import available_bytes

from benchmarks.checkpoint import loop
from benchmarks.checkpoint.options import Options
from benchmarks.checkpoint.running import SCRATCH
from benchmarks.figures import Figure

WAYS = ("none", "trainer", "overlapped", "dcp-thread-best", "meta-best")
_STEPS_PER_SAVE = 20
_MOST_STALL_SECONDS = 0.010
_MOST_SLOWER = 0.02

_GPU_BYTES_PER_PARAMETER = 8
"""A weight, its gradient and two moments, in bf16. Activations are recomputed and stay in the other half."""
_STATE_BYTES_PER_PARAMETER = 6
_LEAST_PARAMETERS, _MOST_PARAMETERS = 1e9, 8e9
_SHARE = 0.5
_CHECKPOINTS_AT_A_TIME = 4


def state_gb() -> float:
    """What the GPU, the host's memory and the disk have room for, between 1 and 8 billion parameters."""
    on_gpu = torch.cuda.mem_get_info()[0] * _SHARE / _GPU_BYTES_PER_PARAMETER
    in_memory = available_bytes() * _SHARE / _STATE_BYTES_PER_PARAMETER
    on_disk = shutil.disk_usage(SCRATCH).free / _CHECKPOINTS_AT_A_TIME / _STATE_BYTES_PER_PARAMETER
    parameters = max(_LEAST_PARAMETERS, min(_MOST_PARAMETERS, on_gpu, in_memory, on_disk))
    return parameters * _STATE_BYTES_PER_PARAMETER / 1e9


def measure(console: Console, options: Options) -> tuple[list[Figure], dict[str, str]]:
    if not torch.cuda.is_available():
        console.print("[dim]cuda: there is no GPU here[/]")
        return [], {"cuda": "there is no GPU here"}
    size = options.state_gb if options.is_quick else state_gb()
    seen, missing = loop.compare(console, options, "cuda", WAYS, size)
    loop.show(console, f"On {torch.cuda.get_device_name()}, {size:.0f} GB of state in bf16", seen, missing)
    rows = loop.figures("cuda", seen)
    if ours := seen.get("overlapped"):
        stall, noise = ours.blocked.median, ours.slowdown.spread / (_STEPS_PER_SAVE * ours.quiet_step.median)
        slower = ours.slowdown.median / (_STEPS_PER_SAVE * ours.quiet_step.median)
        rows += [
            Figure("cuda: blocked per save", stall, "s", f"under {_MOST_STALL_SECONDS}", stall < _MOST_STALL_SECONDS),
            Figure(
                f"cuda: step time, a save every {_STEPS_PER_SAVE} steps: slower by",
                slower,
                "ratio",
                f"under {_MOST_SLOWER}",
                slower < _MOST_SLOWER if abs(slower - _MOST_SLOWER) > noise else None,
                f"± {noise:.2g}",
            ),
        ]
    return rows, missing
