"""docs/chaos.md: the grid as tables, and the picture of it."""

from collections.abc import Sequence
from itertools import groupby

from tools.proofs.chaos.record import Row

_HEAD = """# Chaos: every fault at every state

`make chaos` runs each cell of this grid for real on the local cloud: the deployed state machines and Lambdas, real
processes that commit real checkpoints (a training of about a second stands in for the Trainer), and then looks at what
is there. Written by that command, not by hand.

A fault that lasts is removed when nothing moves any more. From there the sweep alone must bring the run to its end, in
compressed time. In each cell three promises are checked against what exists: every saved checkpoint is downloaded from
S3 and compared file by file with its checksums, file systems and tasks are looked for, and the certificate is compared
with both.

1. No file system is deleted before everything saved on it is whole in S3.
2. Nothing is left behind.
3. The execution and the certificate say what really happened.

![The grid](pictures/chaos.svg)

"""
_COLUMNS = (
    "| state | fault | training | checkpoints | file system | last verified | promises |\n|---|---|---|---|---|---|---|"
)
_FOUND = """
## What it found, each fixed

- Certify failed until its retries were used up: the file system was gone, so the sweep had nothing to find, and the run
  never got its certificate. The sweep now also repeats teardowns that ended badly.
- The reply to RunTask was lost: a training that completed was certified as crashed. Where an error says nothing about
  the task, the trainer's own log now decides.
- FSx answered once that a file system was gone: its checkpoints were certified as lost, and stayed so though the sweep
  found the file system and verified all of them. A verification now replaces a loss.
"""
_FAULTS = """
| Fault | Means |
|---|---|
| throttled once | the call is refused once with ThrottlingException |
| times out each time | States.Timeout, whatever is tried |
| fails for good | an error that no rule names, whatever is tried |
| reply lost once, each reply lost | the call takes effect, and then its reply is an error |
| StopExecution | the execution is stopped when it enters the state |
| an error's name, once | the errors that the state's own rules name |
"""


def page(rows: Sequence[Row], *, cells: int) -> str:
    reached = [row for row in rows if row.injected]
    hold = sum(row.holds for row in reached)
    figures = f"**{hold} of {len(reached)} cells hold**"
    unreached = [row for row in rows if not row.injected]
    if unreached:
        figures += f"; in {len(unreached)} more the run never entered the state, or ended before the fault was injected"
    if len(rows) < cells:
        figures += f"; {cells - len(rows)} of the grid's {cells} cells were not run"
    parts = [_HEAD, figures + ".\n", _FAULTS, _FOUND]
    broken = [row for row in reached if not row.holds]
    if broken:
        parts.append("\n## What does not hold\n\n")
        parts += [f"- {row.machine}: {row.state}: {row.fault}: {'; '.join(row.broken)}\n" for row in broken]
    for machine, group in groupby(rows, key=lambda row: row.machine):
        parts.append(f"\n## {machine[0].upper()}{machine[1:]}\n\n{_COLUMNS}\n")
        parts += [_line(row) for row in group]
    return "".join(parts)


def _line(row: Row) -> str:
    verified = "-" if row.last_verified_step is None else str(row.last_verified_step)
    fault = f"{row.fault} ({row.setup})" if row.setup not in ("", row.fault) else row.fault
    cells = (row.state, fault, row.training, row.checkpoints, row.file_system, verified, row.mark)
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |\n"
