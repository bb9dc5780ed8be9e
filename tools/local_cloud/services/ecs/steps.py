"""Reading the step out of a line that training wrote, for faults that wait for one."""

from __future__ import annotations

import json
from collections.abc import Container as Collection


def step_in(line: str, kinds: Collection[str]) -> int | None:
    """The step of an event line of one of these kinds."""
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except json.JSONDecodeError:
        return None
    step = event.get("step")
    return step if event.get("kind") in kinds and isinstance(step, int) else None
