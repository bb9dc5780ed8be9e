"""Errors of our services, as AWS answers them."""

from __future__ import annotations

from typing import NoReturn


class AwsError(Exception):
    """The service answers this request with an AWS error."""

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status


def refuse(code: str, message: str) -> NoReturn:
    """As an expression, for lambdas."""
    raise AwsError(code, message)


class NotSupported(AwsError):
    """A part of AWS that this cloud does not have."""

    def __init__(self, what: str) -> None:
        super().__init__("NotImplemented", f"{what} is not built into the local cloud", status=501)


def not_supported(what: str) -> NoReturn:
    """As an expression, for lambdas."""
    raise NotSupported(what)
