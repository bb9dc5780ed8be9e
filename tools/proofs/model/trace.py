"""A broken promise with the steps that led to it, as text."""

from collections.abc import Iterable


def as_text(promise: str, path: Iterable[str]) -> str:
    """One line for each state; a fault follows its state, and the states of a teardown are indented."""
    happened = (line for label in path for line in label.split("\n"))
    lines = [f"{number:4}  {line}" for number, line in enumerate(happened, 1)]
    return "\n".join([f"BROKEN: {promise}", *lines])
