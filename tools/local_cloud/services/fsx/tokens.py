"""ClientRequestToken: the same request makes one resource; another request with the token is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from tools.local_cloud.services.errors import AwsError

T = TypeVar("T")


class Tokens(Generic[T]):
    """What was made for each token of one operation."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[str, T]] = {}

    def once(self, request: dict[str, Any], make: Callable[[dict[str, Any]], T]) -> T:
        """What this request makes, or what it made before."""
        token = request.get("ClientRequestToken", "")
        known = self._made.get(token)
        if known is None:
            made = make(request)
            if token:
                self._made[token] = (_fingerprint(request), made)
            return made
        if known[0] != _fingerprint(request):
            raise AwsError(
                "IncompatibleParameterError",
                "The request includes parameters that are different from the original request with this token.",
            )
        return known[1]


def _fingerprint(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True, default=str)
