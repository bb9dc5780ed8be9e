"""A broken promise as a story: what happened, one line each, and what had come of it."""

from collections.abc import Iterable


def told(promise: str, path: Iterable[str]) -> str:
    """State by state; a fault stands behind the state that it hit, and what a teardown does is indented."""
    happened = (line for label in path for line in label.split("\n"))
    lines = [f"{number:4}  {line}" for number, line in enumerate(happened, 1)]
    return "\n".join([f"BROKEN: {promise}", *lines])
