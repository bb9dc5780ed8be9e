"""How stall and time to durable grow: with the size of the state, and with the number of processes."""

from rich.console import Console
from rich.table import Table

from benchmarks.checkpoint.measured import Measured
from benchmarks.checkpoint.options import Options
from benchmarks.checkpoint.running import Failed, folder_for, run
from benchmarks.checkpoint.training import Training
from benchmarks.figures import Figure

_LEAST_SAVES = 4


def by_size(console: Console, options: Options) -> list[Figure]:
    return _grow(console, options, "sizes", [(size, 1) for size in options.sizes_gb])


def by_ranks(console: Console, options: Options) -> list[Figure]:
    """The smallest state: every process holds all of it, and they share the cores of this machine."""
    size = options.sizes_gb[0]
    return _grow(console, options, "ranks", [(size, processes) for processes in options.ranks])


def _grow(console: Console, options: Options, part: str, points: list[tuple[float, int]]) -> list[Figure]:
    table = Table("state", "processes", "blocked per save", "slowdown per save", "to durable", "speed", title=part)
    table.title_justify = "left"
    rows = []
    for size, processes in points:
        console.print(f"[dim]{part}: {size} GB, {processes} process(es) ...[/]", highlight=False)
        training = Training(
            way="overlapped",
            folder=folder_for(part),
            state_gb=size,
            how="sleeping",
            step_seconds=options.step_seconds,
            saves=min(options.saves, _LEAST_SAVES),
            quiet_steps=options.quiet_steps,
        )
        name = f"{part}: {size:g} GB, {processes} process(es)"
        try:
            one = Measured.of(run(training, processes))
        except Failed as failure:
            table.add_row(f"{size:g} GB", str(processes), f"failed: {failure}")
            continue
        table.add_row(
            f"{one.bytes / 1e9:.2f} GB",
            str(processes),
            f"{one.blocked.median * 1000:,.1f} ms",
            f"{one.slowdown.median:.3f} s ± {one.slowdown.spread:.3f}",
            f"{one.durable.median:.2f} s",
            f"{one.bytes / 1e9 / one.durable.median:.2f} GB/s",
        )
        rows += [
            Figure(f"{name}: blocked", one.blocked.median, "s", remark=f"± {one.blocked.spread:.2g}"),
            Figure(f"{name}: slowdown", one.slowdown.median, "s", remark=f"± {one.slowdown.spread:.2g}"),
            Figure(f"{name}: to durable", one.durable.median, "s", remark=f"± {one.durable.spread:.2g}"),
        ]
    console.print(table)
    return rows
