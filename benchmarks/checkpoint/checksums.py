"""What checksums cost: saves with and without them, turn by turn in one training."""

from rich.console import Console

from benchmarks.checkpoint.measured import Value
from benchmarks.checkpoint.options import Options
from benchmarks.checkpoint.running import folder_for, run
from benchmarks.checkpoint.training import Training
from benchmarks.figures import Figure


def measure(console: Console, options: Options) -> list[Figure]:
    console.print("[dim]checksums: with and without, turn by turn ...[/]", highlight=False)
    training = Training(
        way="checksums",
        folder=folder_for("checksums"),
        state_gb=options.state_gb,
        how="sleeping",
        step_seconds=options.step_seconds,
        # The first is dropped, and from then on every other one has checksums.
        saves=2 * options.saves - 1,
        quiet_steps=options.quiet_steps,
    )
    saves = run(training)["saves"][1:]
    rows = []
    for what in ("slowdown", "durable"):
        with_them, without = (Value.of([save[f"{what}_seconds"] for save in saves[start::2]]) for start in (0, 1))
        cost, noise = with_them.median - without.median, with_them.spread + without.spread
        rows += [
            Figure(f"checksums: {what} with them", with_them.median, "s", remark=f"± {with_them.spread:.2g}"),
            Figure(f"checksums: {what} without", without.median, "s", remark=f"± {without.spread:.2g}"),
            Figure(f"checksums: their cost in {what}", cost, "s", f"within noise ({noise:.2g} s)", cost <= noise),
        ]
    return rows
