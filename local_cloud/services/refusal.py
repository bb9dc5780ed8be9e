"""How a service of ours says no, in AWS's words."""

from __future__ import annotations

from typing import NoReturn


class Refused(Exception):
    """The service answers this request with an AWS error."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


def refuse(code: str, message: str) -> NoReturn:
    """For where only an expression fits."""
    raise Refused(code, message)


class NotBuilt(Refused):
    """A part of AWS that this cloud does not have; it says so instead of pretending."""

    def __init__(self, what: str) -> None:
        super().__init__("NotImplemented", f"{what} is not built into the local cloud", status=501)


def not_built(what: str) -> NoReturn:
    """For where only an expression fits."""
    raise NotBuilt(what)
