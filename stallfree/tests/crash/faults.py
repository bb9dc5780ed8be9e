"""Faults for single system calls of a process: a call fails, or the process is killed before it."""

import errno
import os
import select
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Protocol

from crash.listener import Call, answer, fork_watched, receive


class Fault(Protocol):
    def error_for(self, call: Call) -> int | None:
        """The error that the call is to end with. Called for each of them, in their order."""


@dataclass
class Killed:
    """The process dies before a call of this name on this file; the first `spared` of them are made."""

    name: str
    file: str
    spared: int = 0

    def error_for(self, call: Call) -> int | None:
        if call.name == self.name and fnmatch(str(call.path), self.file):
            self.spared -= 1
            if self.spared < 0:
                os.kill(call.process, signal.SIGKILL)
        return None


@dataclass
class Failing:
    """One call fails, counted from 0 over all of the given names; and all writes after it, where `for_good`."""

    names: tuple[str, ...]
    which: int
    error: int = errno.EIO
    for_good: bool = False
    file: str = "*"

    def error_for(self, call: Call) -> int | None:
        if call.name not in self.names or not fnmatch(str(call.path), self.file):
            return None
        self.which -= 1
        return self.error if self.which == -1 or (self.for_good and self.which < 0) else None


@dataclass
class Counting:
    """No fault; the calls are counted by name."""

    names: tuple[str, ...]
    counted: int = 0

    def error_for(self, call: Call) -> int | None:
        self.counted += call.name in self.names
        return None


def run_under(fault: Fault, work: Callable[[], None], *, folder: Path) -> int:
    """Do the work in a process of its own with a fault for calls on files in the folder; its exit status."""
    child, listener = fork_watched(work)
    try:
        for call in _calls(listener):
            answer(listener, call, fault.error_for(call) if call.path.is_relative_to(folder) else None)
    finally:
        os.close(listener)
    return os.waitpid(child, 0)[1]


def _calls(listener: int) -> Iterable[Call]:
    waiting = select.poll()
    waiting.register(listener, select.POLLIN)
    while waiting.poll()[0][1] & select.POLLIN:
        if call := receive(listener):
            yield call
