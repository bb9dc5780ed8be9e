"""What happens, said where people and the pump listen: in the log, and in a file on the mount."""

import sys
from pathlib import Path
from typing import Any

from contract.events import Event
from training.hook.belay_hook.lines import append, print_line, sync


class Recorder:
    """One line an event. The mount joins in as soon as there is one."""

    def __init__(self, *, run: str, attempt: int) -> None:
        self._run = run
        self._attempt = attempt
        self._file: Path | None = None

    def also_to(self, file: Path) -> None:
        self._file = file

    def record(self, kind: type[Event], **fields: Any) -> None:
        line = kind(run=self._run, attempt=self._attempt, **fields).line()
        print_line(line)
        if self._file is None:
            return
        try:
            append(self._file, line)
            sync(self._file)
        except OSError as error:
            # A full disk must not change how the task ends; the log has the line already.
            print(f"The event could not be written to {self._file}: {error}", file=sys.stderr)
