"""A run on the screen of a command: while it goes on, and what it ended as."""

from rich.console import Console

from client.local.telling import Unexpected
from client.progress import saves_sentence
from client.reading import Run, follow
from client.show import Display, certificate_panel, checkpoints_table
from contract.certificate import Certificate

_LOOK_EVERY_SECONDS = 0.4


def watch(console: Console, run: Run) -> None:
    """Shows a run until it is over."""
    console.print(f"[dim]{run.execution_arn}[/]")
    with Display(console, started_at=run.started_at) as display:
        for look in follow(run, every_seconds=_LOOK_EVERY_SECONDS):
            display.show(look)
    if saves := saves_sentence(look):
        console.print(saves)


def certified(console: Console, run: Run) -> Certificate:
    """Shows the certificate; every run that was accepted has one, whatever became of it."""
    certificate = run.certificate()
    if certificate is None:
        described = run.describe()
        raise Unexpected(f"no certificate: {described['status']} {described.get('error')}: {described.get('cause')}")
    console.print()
    console.print(certificate_panel(certificate))
    if certificate.checkpoints:
        console.print(checkpoints_table(certificate))
    return certificate
