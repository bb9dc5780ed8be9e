"""A lane: time that is painted from left to right without a gap, and repainted where more is learned later."""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from typing import NamedTuple

from belay.goodput.buckets import Bucket


class Span(NamedTuple):
    """Whole microseconds, so that sums are exact."""

    start_us: int
    end_us: int
    bucket: Bucket

    @property
    def seconds(self) -> float:
        return (self.end_us - self.start_us) / 1e6


class Lane:
    """Its spans touch each other and never overlap, whatever is painted: that is what makes every sum right."""

    def __init__(self, begin_us: int, end_us: int) -> None:
        self.cursor_us = self.begin_us = begin_us
        self._end_us = max(begin_us, end_us)
        self._spans: list[Span] = []

    def paint(self, until_us: int, bucket: Bucket) -> None:
        """Everything from where the paint ends to there. What lies before that is painted already."""
        until_us = min(until_us, self._end_us)
        if until_us <= self.cursor_us:
            return
        last = self._spans[-1] if self._spans else None
        if last and last.bucket is bucket:
            self._spans[-1] = Span(last.start_us, until_us, bucket)
        else:
            self._spans.append(Span(self.cursor_us, until_us, bucket))
        self.cursor_us = until_us

    def repaint(self, start_us: int, end_us: int, bucket: Bucket, *, only: Collection[Bucket]) -> None:
        """What was painted between these two as one of `only`."""
        start_us, end_us = max(start_us, self.begin_us), min(end_us, self.cursor_us)
        if start_us >= end_us:
            return
        first = bisect_right(self._spans, start_us, key=lambda span: span.end_us)
        behind = bisect_right(self._spans, end_us - 1, key=lambda span: span.start_us)
        new: list[Span] = []
        for span in self._spans[first:behind]:
            if span.bucket not in only:
                new.append(span)
                continue
            inner_start_us, inner_end_us = max(span.start_us, start_us), min(span.end_us, end_us)
            new += [
                part
                for part in (
                    Span(span.start_us, inner_start_us, span.bucket),
                    Span(inner_start_us, inner_end_us, bucket),
                    Span(inner_end_us, span.end_us, span.bucket),
                )
                if part.start_us < part.end_us
            ]
        self._spans[first:behind] = new

    def spans(self) -> list[Span]:
        """The whole line; neighbours of one bucket are one span."""
        return list(_joined(self._spans))


def _joined(spans: list[Span]) -> Iterator[Span]:
    held: Span | None = None
    for span in spans:
        if held and held.bucket is span.bucket:
            held = Span(held.start_us, span.end_us, span.bucket)
            continue
        if held:
            yield held
        held = span
    if held:
        yield held
