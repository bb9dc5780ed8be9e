"""Killing a process before any line of stallfree, in whichever of its threads."""

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import stallfree

_PACKAGE = stallfree.__path__[0]
_TOUCHES_NO_DISK = f"{_PACKAGE}/checkpoint/timing.py"


def killed_at(line: int, work: Callable[[], None]) -> bool:
    """Run the work in a process of its own that dies before the given line of stallfree. False: it was done before."""
    child = os.fork()
    if child == 0:
        _die_at(line)
        work()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _die_at(line: int) -> None:
    lines_left = line

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines_left
        file = frame.f_code.co_filename
        if not file.startswith(_PACKAGE) or file == _TOUCHES_NO_DISK:
            return None
        if event == "line":
            lines_left -= 1
            if lines_left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    threading.settrace(trace)
    sys.settrace(trace)


def kill_everywhere(work: Callable[[], None], check: Callable[[], None], *, stride: int = 1) -> int:
    """Kill the work before each of its lines in turn, and check what is left. How many lines it has."""
    line = 1
    while killed_at(line, work):
        check()
        line += stride
    return line - stride
