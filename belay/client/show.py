"""A run on the terminal: what happened as lines that stay, and where it stands as a bar that moves."""

from datetime import datetime, timedelta
from types import TracebackType

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from belay.client.estimate import Estimate
from belay.client.progress import Progress, Snapshot, bytes_text, progress_of
from belay.client.updates import Update, updates
from belay.contract.certificate import Certificate
from belay.contract.verdict import Durability, Training

_STYLES = {"state": "bold", "teardown": "bold cyan", "trainer": "", "verified": "green", "trouble": "red"}
_MARKS = {"state": "Train", "teardown": "Teardown", "trainer": "trainer", "verified": "Belay", "trouble": "error"}
_BAR_COLUMNS = 16
_SAFE = (Durability.VERIFIED, Durability.NOTHING_SAVED)


class Display:
    """Shows one snapshot after the other. Without a terminal it prints plain lines, and a step line now and then."""

    def __init__(self, console: Console, *, started_at: datetime) -> None:
        self._console = console
        self._started_at = started_at
        self._last: Snapshot | None = None
        self._tenth = 0
        self._live = Live(console=console, transient=True, refresh_per_second=8) if console.is_terminal else None

    def __enter__(self) -> "Display":
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self._live:
            self._live.stop()

    def show(self, snapshot: Snapshot, estimate: Estimate | None = None) -> None:
        for item in updates(self._last, snapshot):
            self._console.print(_line(item, self._started_at))
        progress = progress_of(snapshot)
        if self._live:
            self._live.update(_bar(progress, snapshot, estimate))
        elif progress.step and not snapshot.is_over and int(progress.fraction * 10) != self._tenth:
            self._tenth = int(progress.fraction * 10)
            self._console.print(f"             {_numbers(progress)}", highlight=False)
        self._last = snapshot


def certificate_panel(certificate: Certificate) -> RenderableType:
    verdict = certificate.verdict
    good = verdict.training is Training.COMPLETED and verdict.durability in _SAFE
    file_system = certificate.file_system
    facts = Table.grid(padding=(0, 2))
    facts.add_column(no_wrap=True)
    # An address is folded, never cut: it is there to be copied.
    facts.add_column(overflow="fold")
    ended = certificate.ended
    facts.add_row("training", f"{verdict.training}, by {ended.by}" if ended else verdict.training)
    facts.add_row("checkpoints", verdict.durability)
    facts.add_row(
        "last verified step", "none" if verdict.last_verified_step is None else str(verdict.last_verified_step)
    )
    if certificate.lost:
        facts.add_row("work lost", certificate.lost.sentence)
    facts.add_row("where", verdict.where)
    facts.add_row("file system", " ".join(part for part in (file_system.id, file_system.sentence) if part))
    colour = "green" if good else "yellow" if verdict.durability in _SAFE else "red"
    body = Group(Text(certificate.sentence), Text(""), facts)
    return Panel(body, title=f"Certificate of run {certificate.run}", border_style=colour, title_align="left")


def checkpoints_table(certificate: Certificate) -> Table:
    proven = all(entry.proof and not entry.problem for entry in certificate.checkpoints)
    table = Table(title="Proven, file by file" if proven else "Checkpoints", title_justify="left", title_style="bold")
    for column in ("step", "files", "size", "proof"):
        table.add_column(column, justify="left" if column == "proof" else "right")
    for entry in certificate.checkpoints:
        proof = entry.problem or (entry.proof.value if entry.proof else "not compared")
        table.add_row(str(entry.step), str(entry.files), bytes_text(entry.bytes), proof)
    return table


def _line(item: Update, started_at: datetime) -> Text:
    seconds = max(0.0, (item.at - started_at).total_seconds())
    line = Text(f"{seconds:6.1f} s  ", style="dim")
    line.append(f"{_MARKS[item.kind]:<9}", style=_STYLES[item.kind] or "dim")
    line.append(item.text, style=_STYLES[item.kind])
    return line


def _bar(progress: Progress, snapshot: Snapshot, estimate: Estimate | None) -> RenderableType:
    last = snapshot.entered[-1] if snapshot.entered else None
    if progress.total_steps is None or (last and last.teardown):
        return Spinner("dots", text=Text(last.state if last else "starting", style="dim"))
    grid = Table.grid(padding=(0, 2))
    grid.add_row(ProgressBar(total=1.0, completed=progress.fraction, width=_BAR_COLUMNS), _numbers(progress))
    if estimate:
        grid.add_row("", Text(_money(estimate), style="dim"))
    return grid


def _money(estimate: Estimate) -> str:
    parts = [f"attempt {estimate.attempts}"] if estimate.attempts > 1 else []
    if estimate.seconds_left is not None:
        parts.append(f"{timedelta(seconds=round(estimate.seconds_left))} left")
    for what, usd in (("spent", estimate.spent_usd), ("at risk", estimate.at_risk_usd)):
        if usd is not None:
            parts.append(f"{what} {usd:,.2f} USD")
    if estimate.projected_usd is not None and estimate.seconds_left:
        parts.append(f"{estimate.projected_usd:,.2f} USD in the end")
    return "   ".join(parts)


def _numbers(progress: Progress) -> str:
    loss = "" if progress.loss is None else f"   loss {progress.loss:.3f}"
    saved = "none" if progress.last_saved_step is None else progress.last_saved_step
    proven = "none" if progress.last_verified_step is None else progress.last_verified_step
    return (
        f"step {progress.step}/{progress.total_steps}{loss}   saved {saved}   proven {proven}"
        f"   at risk {progress.steps_at_risk} steps"
    )
