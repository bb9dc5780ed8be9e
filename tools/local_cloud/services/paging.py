"""Pages of a list, the way AWS's Describe and List calls hand them out."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tools.local_cloud.services.errors import AwsError

T = TypeVar("T")
_DEFAULT_SIZE = 100


def page(items: Sequence[T], request: Mapping[str, Any], *, error: str) -> tuple[Sequence[T], str | None]:
    """One page and the token of the next, for a request with MaxResults and NextToken; `error` refuses a token that
    no page gave."""
    size = int(request.get("MaxResults") or request.get("maxResults") or _DEFAULT_SIZE)
    token = request.get("NextToken") or request.get("nextToken")
    start = _read(token, error) if token else 0
    following = start + size
    return items[start:following], _written(following) if following < len(items) else None


def _written(start: int) -> str:
    # FSx's model wants its tokens in base64, with padding.
    return base64.b64encode(f"{start:08}".encode()).decode()


def _read(token: str, error: str) -> int:
    try:
        return int(base64.b64decode(token, validate=True))
    except (binascii.Error, ValueError):
        raise AwsError(error, "The NextToken is not valid.") from None
