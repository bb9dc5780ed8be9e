"""How the pump's memory of a run grows with each line that is read, and what of it may be forgotten. Pure."""

from collections.abc import Iterable
from datetime import timedelta

from belay.contract.events import Removed, Saved
from belay.contract.pump_state import PumpState
from belay.contract.run import started_at_of
from belay.policy.ledgers import is_verified, recent
from belay.policy.trainer_log import CLOCK_SKEW, newer, parsed

# Lines become visible late and in any order. The log driver holds a line for seconds, and for as long as CloudWatch
# does not take it. Nothing bounds that, so this is a choice: a line that comes later than this is found by teardown.
OVERLAP = timedelta(minutes=15)
# The cursors alone are written this often: from an older one a round reads no more than this besides.
_CURSORS_EVERY = timedelta(minutes=10)


def new(run: str) -> PumpState:
    """All of the log since the run began is still to be read."""
    return PumpState(run=run, searched_to=started_at_of(run) - CLOCK_SKEW)


def with_lines(state: PumpState, texts: Iterable[str]) -> PumpState:
    """The newest of each step wins, so lines may come late, twice and in any order."""
    lines, _ = parsed(texts)
    newest: dict[int, Saved | Removed] = dict(state.newest)
    for event in (line.event for line in lines):
        if isinstance(event, Saved | Removed) and event.run == state.run:
            known = newest.get(event.step)
            if known is None or newer(event) > newer(known):
                newest[event.step] = event
    return state.model_copy(update={"newest": newest})


def settled(state: PumpState) -> PumpState:
    """Without what is removed or proven, as soon as no line about it can be read again: it does not grow with time."""
    ledger = state.ledger
    assert ledger is not None, "only what the ledger says is proven may be forgotten"
    # What is read again was written after this, and a line is stamped by the log driver after the trainer wrote it.
    readable_since = min([state.searched_to, *(stream.read_to for stream in state.streams.values())]) - 2 * OVERLAP

    def may_matter(event: Saved | Removed) -> bool:
        is_done = isinstance(event, Removed) or is_verified(ledger, event.step, event)
        return not is_done or event.at >= readable_since

    newest = {step: event for step, event in state.newest.items() if may_matter(event)}
    return state.model_copy(update={"newest": newest, "ledger": recent(ledger, newest)})


def is_worth_writing(before: PumpState, after: PumpState) -> bool:
    moved = after.searched_to - before.searched_to
    same_cursors = {"searched_to": before.searched_to, "streams": before.streams}
    return (
        moved >= _CURSORS_EVERY
        or before.streams.keys() != after.streams.keys()
        or after.model_copy(update=same_cursors) != before
    )
