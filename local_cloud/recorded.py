"""Every call that a role made: what it asked of IAM, about what, under which conditions, and the answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

# A cloud that runs for days must not grow for ever: the oldest calls are forgotten.
_MOST = 50_000


class CallBook:
    """Each different call once. The calls of the account's own root are not in it: it may do everything."""

    def __init__(self) -> None:
        self._calls: dict[str, None] = {}
        self._lock = threading.Lock()

    def note(self, principal: str, action: str, resource: str, context: Mapping[str, Any], *, allowed: bool) -> None:
        """`principal` is the ARN of a role's session; the role is what counts."""
        call = {
            "role": principal.split("/")[1],
            "action": action,
            "resource": resource,
            "context": {key: value for key, value in context.items() if value is not None},
            "allowed": allowed,
        }
        with self._lock:
            self._calls[json.dumps(call, sort_keys=True, default=str)] = None
            while len(self._calls) > _MOST:
                del self._calls[next(iter(self._calls))]

    def calls(self) -> list[dict[str, Any]]:
        """In the order of their first time."""
        with self._lock:
            return [json.loads(call) for call in self._calls]
