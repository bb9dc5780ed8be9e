"""Every way of saving in the same training loop, one after the other."""

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from benchmarks.checkpoint.measured import Measured
from benchmarks.checkpoint.options import Options
from benchmarks.checkpoint.peers.all import WAYS
from benchmarks.checkpoint.running import Failed, folder_for, run
from benchmarks.checkpoint.training import Training
from benchmarks.figures import Figure

_MILLISECONDS = 1000


def compare(
    console: Console, options: Options, how: str, ways: Sequence[str], state_gb: float | None = None
) -> tuple[dict[str, Measured], dict[str, str]]:
    """What each way came to, and why some did not."""
    seen: dict[str, Measured] = {}
    missing: dict[str, str] = {}
    for way in ways:
        if reason := WAYS[way].why_not():
            missing[way] = reason
            continue
        console.print(f"[dim]{how}: {WAYS[way].title} ...[/]", highlight=False)
        training = Training(
            way=way,
            folder=folder_for(way),
            state_gb=state_gb or options.state_gb,
            how=how,
            step_seconds=options.step_seconds,
            saves=options.saves,
            quiet_steps=options.quiet_steps,
        )
        try:
            seen[way] = Measured.of(run(training))
        except Failed as failure:
            missing[way] = f"failed: {failure}"
    return seen, missing


def show(console: Console, title: str, seen: Mapping[str, Measured], missing: Mapping[str, str]) -> None:
    table = Table(
        "way", "blocked per save", "first save", "slowdown per save", "to durable", title=title, title_justify="left"
    )
    for name, one in seen.items():
        fsync = "" if one.is_durable else ", no fsync"
        table.add_row(
            WAYS[name].title,
            f"{one.blocked.median * _MILLISECONDS:,.1f} ms",
            f"{one.first_blocked_seconds * _MILLISECONDS:,.1f} ms",
            f"{one.slowdown.median:.3f} s ± {one.slowdown.spread:.3f}",
            f"{one.durable.median:.2f} s{fsync}" if name != "none" else "",
        )
    for name, reason in missing.items():
        table.add_row(WAYS[name].title, reason)
    console.print(table)


def figures(mode: str, seen: Mapping[str, Measured]) -> list[Figure]:
    rows = []
    for name, one in seen.items():
        title = f"{mode}: {WAYS[name].title}"
        rows += [
            Figure(f"{title}: blocked", one.blocked.median, "s", remark=f"± {one.blocked.spread:.2g}"),
            Figure(f"{title}: blocked by the first save", one.first_blocked_seconds, "s"),
            Figure(f"{title}: slowdown", one.slowdown.median, "s", remark=f"± {one.slowdown.spread:.2g}"),
        ]
        if name != "none":
            remark = f"± {one.durable.spread:.2g}" + ("" if one.is_durable else ", without fsync")
            rows.append(Figure(f"{title}: to durable", one.durable.median, "s", remark=remark))
    return rows
