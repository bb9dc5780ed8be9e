"""events.jsonl, line by line: a run may have a million of them."""

from collections.abc import Iterable, Iterator

from pydantic import ValidationError

from belay.contract.events import AnyEvent, parse_event


def events_in(lines: Iterable[bytes | str]) -> Iterator[AnyEvent]:
    """What is no event is passed over: a job may print JSON of its own, and a kill may tear a line in two."""
    for line in lines:
        try:
            event = parse_event.validate_json(line)
        except ValidationError:
            continue
        # Without a zone nobody knows when it was.
        if event.at.tzinfo is not None:
            yield event
