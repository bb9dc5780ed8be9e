"""Pages of a list, the way AWS's Describe and List calls hand them out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from local_cloud.services.refusal import Refused

T = TypeVar("T")


def page(items: Sequence[T], request: Mapping[str, Any], *, default_size: int = 100) -> tuple[Sequence[T], str | None]:
    """One page and the token of the next, for a request with MaxResults and NextToken."""
    size = int(request.get("MaxResults") or request.get("maxResults") or default_size)
    token = request.get("NextToken") or request.get("nextToken") or "0"
    if not str(token).isdigit():
        raise Refused("BadRequest", "The NextToken is not valid.")
    start = int(token)
    following = start + size
    return items[start:following], str(following) if following < len(items) else None
