"""A container as a group of processes of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import psutil  # type: ignore[import-untyped]

T = TypeVar("T")
Line = Callable[[str], None]
MARK = "BELAY_LOCAL_CONTAINER"


class ContainerProcess:
    """The first process of a container and all that it started, whatever their sessions."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        mark: str,
        environment: Mapping[str, str],
        working_directory: Path,
        folder: Path,
        on_line: Line,
    ) -> None:
        """Everything that it prints goes to `on_line`, and to a file in `folder`."""
        self._mark = mark
        self._on_line = on_line
        self._output = (folder / "output.log").open("w", encoding="utf-8")
        self._first = subprocess.Popen(
            command,
            cwd=working_directory,
            env={**environment, MARK: mark},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._reader = threading.Thread(target=self._read, name=f"output of {mark}", daemon=True)
        self._reader.start()

    def terminate(self) -> None:
        """What a container runtime does first: SIGTERM for process 1 alone."""
        if self._first.poll() is None:
            self._first.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL for everything in the container, the first process at the head."""
        if self._first.poll() is None:
            self._first.kill()
        for process in self._members():
            unless_gone(process.kill)

    def wait(self, timeout_seconds: float | None = None) -> int | None:
        """The exit code as a container runtime reports it, or None when it still runs."""
        try:
            code = self._first.wait(timeout_seconds)
        except subprocess.TimeoutExpired:
            return None
        # Process 1 of a container takes the others with it.
        self.kill()
        self._reader.join(timeout=5)
        self._output.close()
        return code if code >= 0 else 128 - code

    def _read(self) -> None:
        assert self._first.stdout is not None
        for line in self._first.stdout:
            self._output.write(line)
            self._output.flush()
            self._on_line(line.rstrip("\n"))

    def _members(self) -> list[psutil.Process]:
        # Ranks of torchrun have their own sessions: only their environment shows which container they belong to.
        found = []
        for process in psutil.process_iter():
            environment = unless_gone(process.environ)
            if environment and environment.get(MARK) == self._mark and process.pid != os.getpid():
                found.append(process)
        return found


def unless_gone(ask: Callable[[], T]) -> T | None:
    """The answer, or None when the process is gone or not ours."""
    try:
        return ask()
    except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
        return None
