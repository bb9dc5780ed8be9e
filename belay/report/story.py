"""What the page shows of a run's events, read once from the first to the last; a long run is thinned as it is read."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from math import isfinite
from typing import Literal

from belay.contract.events import AnyEvent, Failed, Resumed, Saved, Step, Stopping, Verified

_MOST_POINTS = 1200


@dataclass(frozen=True)
class Point:
    """One line about the loss. `attempt` breaks the curve: another attempt may go back."""

    step: int
    loss: float
    attempt: int


@dataclass(frozen=True)
class Mark:
    at: datetime
    kind: Literal["fault", "stop", "restart"]
    step: int | None
    text: str


@dataclass
class Story:
    points: list[Point] = field(default_factory=list)
    saves: list[Saved] = field(default_factory=list)
    proofs: dict[int, Verified] = field(default_factory=dict)
    marks: list[Mark] = field(default_factory=list)
    last_step: int | None = None
    total_steps: int | None = None


def collect(events: Iterable[AnyEvent], story: Story) -> Iterator[AnyEvent]:
    """Yields the events unchanged, and collects in `story` what the page needs of them."""
    every, count = 1, 0
    for event in events:
        match event:
            case Step():
                story.last_step, story.total_steps = event.step, event.total_steps
                # A training that diverges says so with losses that no curve can show.
                if event.loss is not None and isfinite(event.loss):
                    if count % every == 0:
                        story.points.append(Point(event.step, event.loss, event.attempt))
                    count += 1
                    if len(story.points) > _MOST_POINTS:
                        story.points, every = story.points[::2], every * 2
            case Saved():
                story.saves.append(event)
                # The last steps may be in a save and in no line about the loss.
                story.last_step = max(story.last_step or 0, event.step)
            case Verified():
                story.proofs[event.step] = event
            case Failed():
                story.marks.append(Mark(event.at, "fault", story.last_step, event.reason))
            case Stopping():
                why = event.why or event.signal
                story.marks.append(Mark(event.at, "stop", story.last_step, f"asked to stop: {why}"))
            case Resumed():
                text = f"attempt {event.attempt} goes on from step {event.step:,}"
                story.marks.append(Mark(event.at, "restart", event.step, text))
        yield event
