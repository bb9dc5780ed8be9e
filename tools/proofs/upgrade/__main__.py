"""`make upgrade-check`: the runs of the last versions go on when this one is deployed beneath them."""

import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from belay.contract.messages import MESSAGES_VERSION
from tools.console import without_options
from tools.definitions.synth import synth
from tools.definitions.templates import Assembly
from tools.figures import Figure, publish
from tools.proofs.upgrade.check import Part, ThisVersion, check, may_differ
from tools.proofs.upgrade.recording import Recording, last_versions

_MOST_SHOWN = 10


def main() -> int:
    without_options(__doc__)
    console, began = Console(highlight=False), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        deployed = ThisVersion.of(Assembly(synth(Path(folder))))
        parts = {one.version: _checked(console, one, deployed) for one in last_versions()}
    figures = [
        Figure(f"{version}: {part.name}", part.count, part.unit, "all", not part.wrong)
        for version, of_one in parts.items()
        for part in of_one
    ]
    publish(console, "upgrade", [*figures, Figure("seconds", round(time.monotonic() - began, 1), "s")])
    wrong = [fault for of_one in parts.values() for part in of_one for fault in part.wrong]
    if wrong:
        console.print("Keep what the version before needs, or raise MESSAGES_VERSION (CONTRIBUTING.md).")
    return bool(wrong)


def _checked(console: Console, recording: Recording, deployed: ThisVersion) -> list[Part]:
    table = Table("what goes on", "count", "", "holds", title=f"runs of {recording.version}", title_justify="left")
    if may_differ(recording):
        console.print(
            f"{recording.version}: its messages are of version {recording.messages_version}, these of"
            f" {MESSAGES_VERSION}: while its runs are alive, this version is not deployed."
        )
        return []
    parts = list(check(recording, deployed))
    for part in parts:
        table.add_row(
            part.name, f"{part.count:,}", part.unit, f"[red]no, {len(part.wrong)}[/]" if part.wrong else "yes"
        )
    console.print(table)
    for part in parts:
        for fault in part.wrong[:_MOST_SHOWN]:
            console.print(f"  {part.name}: {fault}", markup=False)
        if len(part.wrong) > _MOST_SHOWN:
            console.print(f"  ... and {len(part.wrong) - _MOST_SHOWN} more")
    return parts


if __name__ == "__main__":
    sys.exit(main())
