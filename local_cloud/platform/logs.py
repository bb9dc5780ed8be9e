"""FilterLogEvents as CloudWatch Logs does it: JSON patterns, stream prefixes, pages."""

from __future__ import annotations

import json
from typing import Any

from local_cloud import engines
from local_cloud.platform.handlers import answer
from local_cloud.platform.log_patterns import BadPattern, compile_pattern
from local_cloud.services.refusal import refuse

MODULE = "ministack.services.cloudwatch_logs"
MOST_EVENTS = 10_000


def install() -> None:
    """Replaces the pattern matcher and wraps the operation."""
    plain = engines.use(MODULE, "_compile_filter_pattern")
    groups = engines.use(MODULE, "_log_groups")
    search = engines.use(MODULE, "_filter_log_events")

    def compile_any(raw: str) -> Any:
        return compile_pattern(raw) if raw and raw.strip().startswith("{") else plain(raw)

    def filter_log_events(request: dict[str, Any]) -> Any:
        asked = dict(request)
        prefix = asked.pop("logStreamNamePrefix", None)
        group = groups.get(asked.get("logGroupName") or asked.get("logGroupIdentifier", "").rpartition(":")[2])
        if prefix is not None and group is not None:
            # A name that cannot exist: no stream of the prefix means no events, and an empty list means all.
            asked["logStreamNames"] = [name for name in group["streams"] if name.startswith(prefix)] or ["\n"]
        size = min(int(asked.pop("limit", MOST_EVENTS)), MOST_EVENTS)
        start = int(asked.pop("nextToken", None) or 0)
        try:
            status, headers, body = search({**asked, "limit": MOST_EVENTS})
        except BadPattern as error:
            why = str(error)
            return answer(lambda: refuse("InvalidParameterException", why))
        if status >= 400:
            return status, headers, body
        events = json.loads(body)["events"]
        found: dict[str, Any] = {"events": events[start : start + size], "searchedLogStreams": []}
        if start + size < len(events):
            found["nextToken"] = str(start + size)
        return status, headers, json.dumps(found).encode()

    engines.replace(MODULE, "_compile_filter_pattern", compile_any)
    engines.replace(MODULE, "_filter_log_events", filter_log_events)
