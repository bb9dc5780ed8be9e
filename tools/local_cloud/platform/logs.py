"""FilterLogEvents as CloudWatch Logs does it: JSON patterns, stream names and prefixes, pages.

Its rules are those of the API reference (botocore's model of `logs`, FilterLogEvents): a page has at most 10,000 events
and 1 MB; a page may be partly full or empty and is not the last one while there is a nextToken; events of all streams
come interleaved, by their timestamps and then by when they were ingested; at most 100 streams can be named, and not
together with a prefix. Here a line can be seen at once: tests/unit/aws/test_run_logs.py has a log that delivers late.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.platform.handlers import answer
from tools.local_cloud.platform.log_patterns import BadPattern, compile_pattern
from tools.local_cloud.services.errors import refuse

MODULE = "ministack.services.cloudwatch_logs"
MOST_EVENTS = 10_000
MOST_BYTES = 1024 * 1024
MOST_STREAMS = 100
# What a page is counted at for each event besides its message, as PutLogEvents counts it.
EVENT_BYTES = 26

Event = dict[str, Any]


def install() -> None:
    """Replaces the pattern matcher and the operation."""
    plain = engines.use(MODULE, "_compile_filter_pattern")
    groups = engines.use(MODULE, "_log_groups")

    def compile_any(raw: str) -> Any:
        return compile_pattern(raw) if raw and raw.strip().startswith("{") else plain(raw)

    def filter_log_events(request: dict[str, Any]) -> Any:
        name = request.get("logGroupName") or request.get("logGroupIdentifier", "").rpartition(":")[2]

        def found() -> dict[str, Any]:
            if name not in groups:
                refuse("ResourceNotFoundException", f"The specified log group does not exist: {name}")
            try:
                matches = compile_any(request.get("filterPattern", ""))
            except BadPattern as error:
                refuse("InvalidParameterException", str(error))
            return _page(_matching(groups[name]["streams"], request, matches), request)

        return answer(found)

    engines.replace(MODULE, "_compile_filter_pattern", compile_any)
    engines.replace(MODULE, "_filter_log_events", filter_log_events)


def _matching(streams: dict[str, Any], request: dict[str, Any], matches: Callable[[str], bool]) -> list[Event]:
    first, last = request.get("startTime", 0), request.get("endTime", float("inf"))
    found = [
        {**event, "logStreamName": name}
        for name in _names(streams, request)
        for event in list(streams[name]["events"])
        if first <= event["timestamp"] <= last and matches(event["message"])
    ]
    return sorted(found, key=lambda event: (event["timestamp"], event.get("ingestionTime", 0)))


def _names(streams: dict[str, Any], request: dict[str, Any]) -> list[str]:
    named, prefix = request.get("logStreamNames"), request.get("logStreamNamePrefix")
    if named is None:
        return [name for name in streams if name.startswith(prefix or "")]
    if prefix is not None or not 1 <= len(named) <= MOST_STREAMS:
        refuse("InvalidParameterException", f"name a prefix, or 1 to {MOST_STREAMS} streams")
    # AWS refuses the whole request for one name.
    if any(name not in streams for name in named):
        refuse("ResourceNotFoundException", "The specified log stream does not exist.")
    return list(named)


def _page(events: list[Event], request: dict[str, Any]) -> dict[str, Any]:
    """A token names the last event that was given out, so what arrives late shifts no page. After a page that is not
    the last one comes an empty one: a reader must not take that for the end."""
    token = request.get("nextToken") or ""
    after, was_empty = token.rpartition(":")[2], token.startswith("empty:")
    if token and not was_empty:
        return {"events": [], "searchedLogStreams": [], "nextToken": f"empty:{after}"}
    begin = next((number for number, event in enumerate(events, start=1) if _id(event) == after), 0)
    if token and not begin:
        refuse("InvalidParameterException", "The specified nextToken is invalid.")
    most, size, end = min(int(request.get("limit", MOST_EVENTS)), MOST_EVENTS), 0, begin
    for event in events[begin : begin + most]:
        size += len(event["message"].encode()) + EVENT_BYTES
        if size > MOST_BYTES and end > begin:
            break
        end += 1
    more = {"nextToken": f"after:{_id(events[end - 1])}"} if end < len(events) else {}
    return {"events": events[begin:end], "searchedLogStreams": [], **more}


def _id(event: Event) -> str:
    """What the engine itself logs of a Lambda has no id."""
    return str(event.get("eventId") or f"{event['timestamp']}-{zlib.crc32(event['message'].encode())}")
