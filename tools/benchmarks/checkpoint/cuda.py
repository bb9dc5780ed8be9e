"""A bf16 model on a GPU: the state leaves it over a side stream, into pinned memory, while it computes on."""

import shutil

import torch
from stallfree.direct_io.memory import available_bytes

from tools.benchmarks.checkpoint import loop
from tools.benchmarks.checkpoint.measured import SavingCost
from tools.benchmarks.checkpoint.options import Options
from tools.benchmarks.checkpoint.progress import Progress
from tools.benchmarks.checkpoint.running import SCRATCH
from tools.figures import Figure

WAYS = ("none", "trainer", "overlapped", "dcp-thread-best", "meta-best")
STEPS_PER_SAVE = 20
_MOST_STALL_SECONDS = 0.010
_MOST_SLOWER = 0.02

_GPU_BYTES_PER_PARAMETER = 8
"""A weight, its gradient and two moments, in bf16. Activations are recomputed and stay in the other half."""
_STATE_BYTES_PER_PARAMETER = 6
_LEAST_PARAMETERS, _MOST_PARAMETERS = 1e9, 8e9
_SHARE = 0.5
_CHECKPOINTS_AT_A_TIME = 4


def measure(progress: Progress, options: Options) -> tuple[list[Figure], dict[str, str]]:
    if not torch.cuda.is_available():
        progress.console.print("[dim]cuda: there is no GPU here[/]")
        return [], {"cuda": "there is no GPU here"}
    size = options.state_gb
    if not options.is_quick:
        size = state_gb(torch.cuda.mem_get_info()[0], available_bytes(), shutil.disk_usage(SCRATCH).free)
    seen, missing = loop.compare(progress, options, "cuda", WAYS, size)
    loop.show(progress, f"On {torch.cuda.get_device_name()}, {size:.0f} GB of state in bf16", seen, missing)
    ours = seen.get("overlapped")
    return [*loop.figures("cuda", seen), *(bars(ours) if ours else [])], {
        f"cuda, {name}": reason for name, reason in missing.items()
    }


def state_gb(free_on_gpu: float, free_in_memory: float, free_on_disk: float) -> float:
    """What the GPU, the host's memory and the disk have room for, between 1 and 8 billion parameters."""
    on_gpu = free_on_gpu * _SHARE / _GPU_BYTES_PER_PARAMETER
    in_memory = free_in_memory * _SHARE / _STATE_BYTES_PER_PARAMETER
    on_disk = free_on_disk / _CHECKPOINTS_AT_A_TIME / _STATE_BYTES_PER_PARAMETER
    parameters = max(_LEAST_PARAMETERS, min(_MOST_PARAMETERS, on_gpu, in_memory, on_disk))
    return parameters * _STATE_BYTES_PER_PARAMETER / 1e9


def bars(ours: SavingCost) -> list[Figure]:
    stall, step = ours.blocked.median, ours.quiet_step.median
    slower, noise = (seconds / (STEPS_PER_SAVE * step) for seconds in (ours.slowdown.median, 2 * ours.slowdown.error))
    return [
        Figure("cuda: blocked per save", stall, "s", f"under {_MOST_STALL_SECONDS}", stall < _MOST_STALL_SECONDS),
        Figure(
            f"cuda: step time, a save every {STEPS_PER_SAVE} steps: slower by",
            slower,
            "ratio",
            f"under {_MOST_SLOWER}",
            slower < _MOST_SLOWER if abs(slower - _MOST_SLOWER) > noise else None,
            f"± {noise:.2g}",
        ),
    ]
