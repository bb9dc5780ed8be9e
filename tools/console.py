"""What the commands under tools/ share: --help, exit codes, and a line with its seconds for each step of the work."""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from rich.console import Console
from rich.rule import Rule

from belay.aws.deployment import NotDeployed
from belay.client.checkpoints import CheckpointDamaged
from tools.local_cloud.cloud import CloudFailed

# As shells have it: ended by SIGINT.
INTERRUPTED = 130
_MOST_LINES = 40
_WIDTH_OF_A_LOG = 120


class Unexpected(Exception):
    """What this command exists to show did not happen; the message says what."""


@contextmanager
def doing(console: Console, what: str) -> Iterator[None]:
    """A spinner while it goes on, a line when it is done."""
    started = time.monotonic()
    if not console.is_terminal:
        console.print(f"{what} ...")
    with console.status(f"{what} ..."):
        yield
    console.print(f"[green]✓[/] {what} [dim]({time.monotonic() - started:.1f} s)[/]", highlight=False)


def heading(console: Console, text: str) -> None:
    console.print()
    console.print(Rule(f"[bold]{text}[/]", align="left", style="dim"))


def without_options(description: str | None) -> None:
    """For a command that takes nothing but --help."""
    argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()


def run_command(command: Callable[[Console], None], *, description: str | None = None) -> None:
    """Runs a command to its exit code; Ctrl-C and SIGTERM both end it through its own clean-up.

    `description`: of a command that reads no options itself.
    """
    if description:
        without_options(description)
    signal.signal(signal.SIGTERM, _as_interrupt)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_A_LOG)
    try:
        command(console)
    except KeyboardInterrupt:
        console.print("\nStopped; the local cloud is shut down.")
        sys.exit(INTERRUPTED)
    except (CloudFailed, NotDeployed, CheckpointDamaged, Unexpected) as error:
        console.print(f"[red]{type(error).__name__}[/]: ", end="")
        console.print(_end_of(str(error)), markup=False)
        sys.exit(1)


def _end_of(text: str) -> str:
    """The CDK command line prints hundreds of lines; why it failed stands in the last of them."""
    lines = text.splitlines()
    return text if len(lines) <= _MOST_LINES else "\n".join(["...", *lines[-_MOST_LINES:]])


def _as_interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
