"""Waiting until something is true."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

LONGEST_SECONDS = 120.0


def eventually(ask: Callable[[], Any], *, seconds: float = LONGEST_SECONDS) -> Any:
    """The first answer that is true."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"it never became true: {answer!r}"
        time.sleep(0.1)
    return answer
