"""Every way of saving in the same training loop, one after the other."""

from collections.abc import Mapping, Sequence

from rich.table import Table

from tools.benchmarks.checkpoint.measured import SavingCost
from tools.benchmarks.checkpoint.options import Options
from tools.benchmarks.checkpoint.peers.all import WAYS
from tools.benchmarks.checkpoint.progress import Progress
from tools.benchmarks.checkpoint.running import Failed, folder_for, run
from tools.benchmarks.checkpoint.training import Training
from tools.figures import Figure

MODES = {"sleeping": "idle", "busy": "busy", "cuda": "cuda"}
"""What the CPU does, or who computes in its place."""
_MILLISECONDS = 1000


def compare(
    progress: Progress, options: Options, how: str, ways: Sequence[str], state_gb: float | None = None
) -> tuple[dict[str, SavingCost], dict[str, str]]:
    """What each way cost, and why some could not run."""
    seen: dict[str, SavingCost] = {}
    missing: dict[str, str] = {}
    for way in ways:
        progress.next(f"{MODES[how]}: {WAYS[way].title}")
        if reason := WAYS[way].why_not():
            missing[way] = reason
            continue
        training = Training(
            way=way,
            folder=folder_for(way),
            state_gb=state_gb or options.state_gb,
            how=how,
            step_seconds=options.step_seconds,
            saves=options.saves,
            seconds=options.seconds,
            quiet_steps=options.quiet_steps,
        )
        try:
            seen[way] = SavingCost.of(run(training))
        except Failed as failure:
            missing[way] = f"failed: {failure}"
    return seen, missing


def show(progress: Progress, title: str, seen: Mapping[str, SavingCost], missing: Mapping[str, str]) -> None:
    table = Table("way", "saves", "blocked per save", "first save", "slowdown per save", "to durable", title=title)
    table.title_justify = "left"
    for name, one in seen.items():
        fsync = "" if one.is_durable else ", no fsync"
        table.add_row(
            WAYS[name].title,
            str(one.saves),
            f"{one.blocked.median * _MILLISECONDS:,.1f} ms",
            f"{one.first_blocked_seconds * _MILLISECONDS:,.1f} ms",
            f"{one.slowdown.median:.3f} s {one.slowdown.in_words}",
            f"{one.durable.median:.2f} s{fsync}" if name != "none" else "",
        )
    for name, reason in missing.items():
        table.add_row(WAYS[name].title, "", reason)
    progress.console.print(table)


def figures(mode: str, seen: Mapping[str, SavingCost]) -> list[Figure]:
    rows = []
    for name, one in seen.items():
        title = f"{mode}: {WAYS[name].title}"
        rows += [
            Figure(f"{title}: blocked", one.blocked.median, "s", remark=one.blocked.in_words),
            Figure(f"{title}: blocked by the first save", one.first_blocked_seconds, "s"),
            Figure(f"{title}: slowdown", one.slowdown.median, "s", remark=one.slowdown.in_words),
            Figure(f"{title}: first step", one.first_step_seconds, "s"),
        ]
        if name != "none":
            remark = one.durable.in_words + ("" if one.is_durable else ", without fsync")
            rows.append(Figure(f"{title}: to durable", one.durable.median, "s", remark=remark))
    return rows
