"""Loss over steps: a line for each attempt, below it what was saved and proven, across it faults and restarts."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from belay.report.drawing import WIDTH, picture
from belay.report.scales import round_numbers, step_axis
from belay.report.story import Mark, Point, Story

_HEIGHT = 240
_MOST_TICKS = 300


@dataclass(frozen=True)
class _Plane:
    """Steps and losses as places in the picture."""

    first: int
    last: int
    low: float
    high: float

    def x(self, step: int) -> float:
        return min(max((step - self.first) / max(1, self.last - self.first), 0.0), 1.0) * WIDTH

    def y(self, loss: float) -> float:
        return (self.high - loss) / (self.high - self.low) * _HEIGHT


def curve(story: Story, proven: Collection[int]) -> str:
    plane = _plane(story.points)
    crossing = "".join(_across(plane, mark) for mark in story.marks if mark.step is not None)
    ticks = _ticks(plane, [save.step for save in story.saves], "saved") + _ticks(plane, sorted(proven), "proven")
    return _plot(plane, crossing + _lines(plane, story.points), ticks)


def curves(stories: Sequence[Story]) -> str:
    """Those of several runs, each in its colour."""
    plane = _plane([point for story in stories for point in story.points])
    lines = "".join(f"<g class='r-{number % 6}'>{_lines(plane, one.points)}</g>" for number, one in enumerate(stories))
    return _plot(plane, lines, "")


def _plane(points: Sequence[Point]) -> _Plane:
    losses, steps = [point.loss for point in points], [point.step for point in points]
    room = (max(losses) - min(losses)) * 0.05 or 0.5
    return _Plane(min(steps), max(steps), min(losses) - room, max(losses) + room)


def _plot(plane: _Plane, inner: str, ticks: str) -> str:
    levels = [one for one in round_numbers(plane.low, plane.high, 7) if plane.low < one < plane.high]
    names = "".join(f"<span style='top:{plane.y(one):.1f}px'>{_level(one, levels)}</span>" for one in levels)
    grid = "".join(f'<line class="grid" x1="0" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>' for y in map(plane.y, levels))
    drawn = picture(_HEIGHT, grid + inner, "loss over steps")
    below = picture(16, ticks, "saved and proven steps") if ticks else ""
    return f"<div class=plot><div class=levels>{names}</div>{drawn}{below}{step_axis(plane.first, plane.last)}</div>"


def _level(loss: float, levels: Sequence[float]) -> str:
    """Short enough for the margin, and not the same as its neighbour's."""
    if max(map(abs, levels)) >= 1000:
        return f"{loss:.1e}"
    return f"{loss:.4f}" if max(levels) - min(levels) < 0.05 else f"{loss:.2f}"


def _lines(plane: _Plane, points: Sequence[Point]) -> str:
    """What a later attempt trained again is drawn pale."""
    attempts = sorted({point.attempt for point in points})
    begins = {attempt: min(point.step for point in points if point.attempt == attempt) for attempt in attempts}
    parts = []
    for attempt in attempts:
        again_from = min((begins[later] for later in attempts if later > attempt), default=plane.last + 1)
        mine = [point for point in points if point.attempt == attempt]
        kept = [point for point in mine if point.step < again_from]
        # The pale line begins where the other one ends.
        lost = kept[-1:] + [point for point in mine if point.step >= again_from]
        for kind, drawn in (("lost", lost), ("loss", kept)):
            places = " ".join(f"{plane.x(point.step):.1f},{plane.y(point.loss):.1f}" for point in drawn)
            parts.append(f'<polyline class="{kind}" points="{places}"/>' if len(drawn) > 1 else "")
    return "".join(parts)


def _across(plane: _Plane, mark: Mark) -> str:
    x = plane.x(mark.step or 0)
    title = escape(f"step {mark.step}: {mark.text}")
    return f'<line class="{mark.kind}" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{_HEIGHT}"><title>{title}</title></line>'


def _ticks(plane: _Plane, steps: Sequence[int], kind: str) -> str:
    every = -(-len(steps) // _MOST_TICKS) or 1
    top = 1 if kind == "saved" else 9
    return "".join(
        f'<line class="{kind}" x1="{plane.x(step):.1f}" x2="{plane.x(step):.1f}" y1="{top}" y2="{top + 6}">'
        f"<title>{kind} step {step}</title></line>"
        for step in steps[::every]
    )
