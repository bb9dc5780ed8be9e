"""How stall and time to durable grow: with the size of the state, and with the number of processes."""

from rich.table import Table
from stallfree.direct_io.memory import available_bytes

from tools.benchmarks.checkpoint.measured import SavingCost
from tools.benchmarks.checkpoint.options import Options
from tools.benchmarks.checkpoint.progress import Progress
from tools.benchmarks.checkpoint.running import Failed, folder_for, run
from tools.benchmarks.checkpoint.training import Training
from tools.figures import Figure

_LEAST_SAVES = 4
_MEMORY_PER_STATE = 2.7
"""The state, as much again for its copy, gradients twice (a process made for several keeps both), and some room."""


def by_size(progress: Progress, options: Options) -> tuple[list[Figure], dict[str, str]]:
    return _grow(progress, options, "sizes", [(size, 1) for size in options.sizes_gb])


def by_ranks(progress: Progress, options: Options) -> tuple[list[Figure], dict[str, str]]:
    """The smallest state: every process holds all of it, and they share the cores of this machine."""
    size = options.sizes_gb[0]
    return _grow(progress, options, "ranks", [(size, processes) for processes in options.ranks])


def _grow(
    progress: Progress, options: Options, part: str, points: list[tuple[float, int]]
) -> tuple[list[Figure], dict[str, str]]:
    table = Table("state", "processes", "blocked per save", "slowdown per save", "to durable", "speed", title=part)
    table.title_justify = "left"
    rows: list[Figure] = []
    missing: dict[str, str] = {}
    for size, processes in points:
        name = f"{part}: {size:g} GB, {processes} process(es)"
        progress.next(name)
        try:
            one = _measured(part, size, processes, options)
        except Failed as failure:
            missing[name] = f"failed: {failure}"
            table.add_row(f"{size:g} GB", str(processes), missing[name])
            continue
        table.add_row(
            f"{one.bytes / 1e9:.2f} GB",
            str(processes),
            f"{one.blocked.median * 1000:,.1f} ms",
            f"{one.slowdown.median:.3f} s {one.slowdown.in_words}",
            f"{one.durable.median:.2f} s",
            f"{one.bytes / 1e9 / one.durable.median:.2f} GB/s",
        )
        for what in ("blocked", "slowdown", "durable"):
            value = getattr(one, what)
            rows.append(Figure(f"{name}: {what}", value.median, "s", remark=value.in_words))
    progress.console.print(table)
    return rows, missing


def _measured(part: str, size: float, processes: int, options: Options) -> SavingCost:
    needed = size * 1e9 * _MEMORY_PER_STATE * processes
    if needed > (spare := available_bytes()):
        raise Failed(f"it takes {needed / 1e9:.0f} GB of memory, and {spare / 1e9:.0f} GB are to be had")
    training = Training(
        way="overlapped",
        folder=folder_for(part),
        state_gb=size,
        how="sleeping",
        step_seconds=options.step_seconds,
        saves=min(options.saves, _LEAST_SAVES),
        seconds=options.seconds / 3,
        quiet_steps=options.quiet_steps,
    )
    return SavingCost.of(run(training, processes))
