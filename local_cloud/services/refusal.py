"""How a service of ours says no, in AWS's words."""

from __future__ import annotations


class Refused(Exception):
    """The service answers this request with an AWS error."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


class NotBuilt(Refused):
    """A part of AWS that this cloud does not have; it says so instead of pretending."""

    def __init__(self, what: str) -> None:
        super().__init__("NotImplemented", f"{what} is not built into the local cloud", status=501)
