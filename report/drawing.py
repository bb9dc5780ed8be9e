"""Small pictures as inline SVG. Words stand beside them in HTML, so that a phone can wrap them."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from goodput.buckets import Bucket
from goodput.spans import Span
from report.story import Mark, Point

_WIDTH = 1000
# More rectangles than a screen has columns show nothing more.
_MOST_SPANS = 1500
_MOST_TICKS = 300


def slug(bucket: Bucket) -> str:
    return bucket.name.lower().replace("_", "-")


def strip(spans: Sequence[Span], *, height: int = 56) -> str:
    """The time line: each moment in the colour of its bucket."""
    if not spans:
        return ""
    begin, wall = spans[0].start_us, max(1, spans[-1].end_us - spans[0].start_us)
    drawn = spans if len(spans) <= _MOST_SPANS else _columns(spans)
    parts = []
    for span in drawn:
        x, width = (span.start_us - begin) / wall * _WIDTH, (span.end_us - span.start_us) / wall * _WIDTH
        title = f"{span.bucket.value}: {length(span.seconds)}, from {length((span.start_us - begin) / 1e6)}"
        parts.append(
            f'<rect class="b-{slug(span.bucket)}" x="{x:.3f}" width="{max(width, 0.6):.3f}" height="{height}">'
            f"<title>{escape(title)}</title></rect>"
        )
    return _svg(height, "".join(parts), "time line", rendering="crispEdges")


def curve(points: Sequence[Point], saves: Sequence[int], marks: Sequence[Mark], *, height: int = 220) -> str:
    """Loss over steps, a line for each attempt; ticks below are saves."""
    first, last = min(point.step for point in points), max(point.step for point in points)
    low, high = min(point.loss for point in points), max(point.loss for point in points)
    wide, tall = max(1, last - first), (high - low) or 1.0

    def x(step: int) -> float:
        return min(max((step - first) / wide, 0.0), 1.0) * _WIDTH

    parts = [f'<line class="grid" x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}"/>' for y in (8, height / 2, height - 24)]
    every = -(-len(saves) // _MOST_TICKS) or 1
    parts += [
        f'<line class="save" x1="{x(step):.2f}" x2="{x(step):.2f}" y1="{height - 12}" y2="{height}">'
        f"<title>saved step {step}</title></line>"
        for step in saves[::every]
    ]
    for mark in marks:
        if mark.step is not None:
            parts.append(
                f'<line class="{mark.kind}" x1="{x(mark.step):.2f}" x2="{x(mark.step):.2f}" y1="0" y2="{height}">'
                f"<title>{escape(f'step {mark.step}: {mark.text}')}</title></line>"
            )
    for attempt in sorted({point.attempt for point in points}):
        at = [
            f"{x(point.step):.2f},{8 + (high - point.loss) / tall * (height - 32):.2f}"
            for point in points
            if point.attempt == attempt
        ]
        parts.append(f'<polyline class="loss" points="{" ".join(at)}"/>')
    return _svg(height, "".join(parts), "loss over steps")


def bars(values: Sequence[float], *, count: int = 24, height: int = 72) -> str:
    """How often which value came: from nothing to the largest."""
    most = max(values) or 1.0
    counts = [0] * count
    for value in values:
        counts[min(count - 1, int(value / most * count))] += 1
    width = _WIDTH / count
    parts = []
    for index, times in enumerate(counts):
        if times:
            tall = max(3.0, times / max(counts) * (height - 4))
            title = f"{times} between {length(index / count * most)} and {length((index + 1) / count * most)}"
            parts.append(
                f'<rect class="bar" x="{index * width + 1:.1f}" y="{height - tall:.1f}" width="{width - 2:.1f}"'
                f' height="{tall:.1f}"><title>{escape(title)}</title></rect>'
            )
    return _svg(height, "".join(parts), "distribution")


def length(seconds: float) -> str:
    """0.0034 -> '3.4 ms', 90 -> '1 min 30 s', 7300 -> '2 h 2 min'."""
    if seconds < 1:
        return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 else "")
    return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 // 60 else "")


def _columns(spans: Sequence[Span]) -> list[Span]:
    """For each column the bucket that fills most of it."""
    begin, end = spans[0].start_us, spans[-1].end_us
    edges = [begin + (end - begin) * index // _MOST_SPANS for index in range(_MOST_SPANS + 1)]
    columns: list[Span] = []
    index = 0
    for left, right in pairwise(edges):
        share: dict[Bucket, int] = {}
        while index < len(spans):
            span = spans[index]
            share[span.bucket] = share.get(span.bucket, 0) + min(span.end_us, right) - max(span.start_us, left)
            if span.end_us > right:
                break
            index += 1
        most = max(share, key=lambda bucket: share[bucket])
        if columns and columns[-1].bucket is most:
            left = columns.pop().start_us
        columns.append(Span(left, right, most))
    return columns


def _svg(height: int, inner: str, label: str, *, rendering: str = "auto") -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none" shape-rendering="{rendering}"'
        f' style="height:{height}px" role="img" aria-label="{label}">{inner}</svg>'
    )
