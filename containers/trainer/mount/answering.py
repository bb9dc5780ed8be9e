"""Asking a file system that may not answer."""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class MountSilent(OSError):
    """The file system has not answered in time."""


def answer_within(seconds: float, ask: Callable[[], T]) -> T:
    """What `ask` returns or raises. A thread of its own waits in the kernel, and does not keep the process alive."""
    answers: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name="mount", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        raise MountSilent(f"the file system has not answered for {seconds:g} seconds")
    return answers[0]
