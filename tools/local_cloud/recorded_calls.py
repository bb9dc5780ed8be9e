"""Every call that a role made: action, resource, conditions, and whether IAM allowed it."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from typing import Any

# A cloud that runs for days must not grow without limit: the oldest calls are dropped.
_MOST = 50_000


class CallRecorder:
    """Each distinct call once. Calls of the account's root are not recorded: root may do everything."""

    def __init__(self) -> None:
        self._calls: dict[str, None] = {}
        self._lock = threading.Lock()

    def record(self, principal: str, action: str, resource: str, context: Mapping[str, Any], *, allowed: bool) -> None:
        """`principal` is the ARN of a role's session."""
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

    def recorded(self) -> list[dict[str, Any]]:
        """In the order in which they were first made."""
        with self._lock:
            return [json.loads(call) for call in self._calls]
