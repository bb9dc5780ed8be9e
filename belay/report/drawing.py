"""Small pictures as inline SVG. Words stand beside them in HTML, so that a phone can wrap them."""

from collections.abc import Sequence
from html import escape
from itertools import pairwise

from belay.goodput.buckets import Bucket
from belay.goodput.spans import Span
from belay.goodput.timeline import Timeline
from belay.report.formatting import length

WIDTH = 1000
# More rectangles than a screen has columns show nothing more.
_MOST_SPANS = 1500


def slug(bucket: Bucket) -> str:
    return bucket.name.lower().replace("_", "-")


def lanes(timeline: Timeline, *, height: int = 44, wall_us: int | None = None) -> str:
    """A strip for each node; the only one needs no name."""
    strips = {node.node: strip(node.spans, height=height, wall_us=wall_us) for node in timeline.nodes}
    if len(strips) == 1:
        return f"<div class=strip>{strips[0]}</div>"
    return "".join(f"<div class=lane>node {node}<div class=strip>{drawn}</div></div>" for node, drawn in strips.items())


def strip(spans: Sequence[Span], *, height: int = 44, wall_us: int | None = None) -> str:
    """The time line: each moment in the colour of its bucket. `wall_us`: that of the longest beside it."""
    if not spans:
        return ""
    begin = spans[0].start_us
    wall = wall_us or max(1, spans[-1].end_us - begin)
    drawn = spans if len(spans) <= _MOST_SPANS else _columns(spans)
    parts = []
    for span in drawn:
        x, width = (span.start_us - begin) / wall * WIDTH, (span.end_us - span.start_us) / wall * WIDTH
        title = f"{span.bucket.value}: {length(span.seconds)}, from {length((span.start_us - begin) / 1e6)}"
        parts.append(
            f'<rect class="b-{slug(span.bucket)}" x="{x:.3f}" width="{max(width, 0.6):.3f}" height="{height}">'
            f"<title>{escape(title)}</title></rect>"
        )
    return picture(height, "".join(parts), "time line", rendering="crispEdges")


def bars(values: Sequence[float], *, count: int = 24, height: int = 64) -> str:
    """How often which value came: from nothing to the largest."""
    most = max(values) or 1.0
    counts = [0] * count
    for value in values:
        counts[min(count - 1, int(value / most * count))] += 1
    width = WIDTH / count
    parts = [f'<line class="grid" x1="0" x2="{WIDTH}" y1="{height}" y2="{height}"/>']
    for index, times in enumerate(counts):
        if times:
            tall = max(3.0, times / max(counts) * (height - 4))
            title = f"{times} between {length(index / count * most)} and {length((index + 1) / count * most)}"
            parts.append(
                f'<rect class="bar" x="{index * width + 3:.1f}" y="{height - tall:.1f}" width="{width - 6:.1f}"'
                f' height="{tall:.1f}"><title>{escape(title)}</title></rect>'
            )
    return picture(height, "".join(parts), "distribution")


def picture(height: int, inner: str, label: str, *, rendering: str = "auto") -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" preserveAspectRatio="none" shape-rendering="{rendering}"'
        f' style="height:{height}px" role="img" aria-label="{label}">{inner}</svg>'
    )


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
