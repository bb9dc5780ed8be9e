"""The entry point's events: in the task's log, and in a file on the mount."""

import sys
import threading
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from _belay_hook.lines import append, print_line, sync

from belay.contract.events import Event


class Recorder:
    """One line an event. Belay reads the log; the file is written as soon as there is one, and is never waited for."""

    def __init__(self, *, run: str, node: int, attempt: int) -> None:
        self._run = run
        self._node = node
        self._attempt = attempt
        self._file: _File | None = None

    def also_to(self, file: Path) -> None:
        self._file = _File(file)

    def record(self, kind: type[Event], **fields: Any) -> None:
        line = kind(run=self._run, node=self._node, attempt=self._attempt, **fields).line()
        print_line(line)
        if self._file is not None:
            self._file.write(line)

    def close(self, *, within_seconds: float) -> None:
        """Returns when the file has every line, or after that time."""
        if self._file is not None:
            self._file.flush(within_seconds)


class _File:
    """Lines to a file on the mount, by a thread of its own: while the mount does not answer, it alone waits."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lines: SimpleQueue[str | threading.Event] = SimpleQueue()
        threading.Thread(target=self._write_all, name="events", daemon=True).start()

    def write(self, line: str) -> None:
        self._lines.put(line)

    def flush(self, within_seconds: float) -> None:
        written = threading.Event()
        self._lines.put(written)
        written.wait(within_seconds)

    def _write_all(self) -> None:
        while True:
            line = self._lines.get()
            if isinstance(line, threading.Event):
                line.set()
                continue
            try:
                append(self._file, line)
                sync(self._file)
            except OSError as error:
                # A full disk must not change how the task ends; the log has the line already.
                print(f"The event could not be written to {self._file}: {error}", file=sys.stderr)
