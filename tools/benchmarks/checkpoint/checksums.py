"""What checksums cost: saves with and without them, by turns in one training."""

from tools.benchmarks.checkpoint.measured import Value
from tools.benchmarks.checkpoint.options import Options
from tools.benchmarks.checkpoint.progress import Progress
from tools.benchmarks.checkpoint.running import folder_for, run
from tools.benchmarks.checkpoint.training import Training
from tools.figures import Figure

_MOST_NOISE = 0.1
"""Of the time to durable. With more than that between two saves, "within the noise" would say nothing."""


def measure(progress: Progress, options: Options) -> list[Figure]:
    progress.next("checksums: saves with and without them, turn by turn")
    training = Training(
        way="checksums",
        folder=folder_for("checksums"),
        state_gb=options.state_gb,
        how="sleeping",
        step_seconds=options.step_seconds,
        # The first is dropped, and from then on every other one has checksums.
        saves=1 + 2 * options.saves,
        seconds=0.0,
        quiet_steps=options.quiet_steps,
    )
    saves = run(training)["saves"][1:]
    rows = []
    durable = Value.of([save["durable_seconds"] for save in saves])
    for what in ("slowdown", "durable"):
        seconds = [save[f"{what}_seconds"] for save in saves]
        with_them, without = seconds[0::2], seconds[1::2]
        medians = Value.of(with_them), Value.of(without)
        rows += [
            Figure(f"checksums: {what} with them", medians[0].median, "s", remark=medians[0].in_words),
            Figure(f"checksums: {what} without", medians[1].median, "s", remark=medians[1].in_words),
            bar(what, Value.of([one - other for one, other in zip(with_them, without, strict=True)]), durable),
        ]
    return rows


def bar(what: str, cost: Value, durable: Value) -> Figure:
    noise = 2 * cost.error
    holds = cost.median <= noise if noise <= _MOST_NOISE * durable.median else None
    remark = f"median of the differences, {cost.in_words}" + ("" if holds is not None else ": too noisy to say")
    return Figure(f"checksums: their cost in {what}", cost.median, "s", "within the noise", holds, remark)
