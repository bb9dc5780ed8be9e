"""ClientRequestToken: the same request twice is one thing, another request with the token is a mistake."""

from __future__ import annotations

import json
from typing import Any, Generic, TypeVar

from local_cloud.services.refusal import Refused

T = TypeVar("T")


class Tokens(Generic[T]):
    """What was made for each token of one operation."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, T]] = {}

    def made(self, request: dict[str, Any]) -> T | None:
        """What this request made before, or None when it is new."""
        known = self._made.get(request.get("ClientRequestToken", ""))
        if known is None:
            return None
        if known[0] != _fingerprint(request):
            raise Refused(
                "IncompatibleParameterError",
                "The request includes parameters that are different from the original request with this token.",
            )
        return known[1]

    def remember(self, request: dict[str, Any], thing: T) -> None:
        """From now on the token stands for the thing."""
        if token := request.get("ClientRequestToken"):
            self._made[token] = (_fingerprint(request), thing)


def _fingerprint(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True, default=str)
