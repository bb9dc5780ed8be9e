"""Shows a run on the screen: while it goes on, and its certificate."""

from rich.console import Console

from belay.client.progress import saves_sentence
from belay.client.reading import Run, follow
from belay.client.show import Display, certificate_panel, checkpoints_table
from belay.contract.certificate import Certificate
from tools.console import Unexpected

_POLL_SECONDS = 0.4


def watch(console: Console, run: Run) -> None:
    """Shows a run until it is over."""
    console.print(f"[dim]{run.execution_arn}[/]")
    with Display(console, started_at=run.started_at) as display:
        for snapshot in follow(run, every_seconds=_POLL_SECONDS):
            display.show(snapshot)
    if saves := saves_sentence(snapshot):
        console.print(saves)


def show_certificate(console: Console, run: Run) -> Certificate:
    """Every run that was accepted has one in the end."""
    certificate = run.certificate()
    if certificate is None:
        described = run.describe()
        raise Unexpected(f"no certificate: {described['status']} {described.get('error')}: {described.get('cause')}")
    console.print()
    console.print(certificate_panel(certificate))
    if certificate.checkpoints:
        console.print(checkpoints_table(certificate))
    return certificate
