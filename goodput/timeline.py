"""A run as a line on which every moment has one name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from contract.events import AnyEvent
from goodput.buckets import Bucket
from goodput.phases import Phase
from goodput.reader import Attempt, Reader
from goodput.spans import Span

# The pace is that of the beginning: what comes later is measured by it.
_EVENTS_TO_LEARN_FROM = 100_000


@dataclass(frozen=True)
class Timeline:
    spans: list[Span]
    """They touch each other: no gap, no overlap."""
    attempts: list[Attempt]
    kept_step: int | None
    """The newest step that a restart could go on from."""
    verified_step: int | None
    """The newest step that is proven in S3."""
    durable_us: int
    """The compute of the steps up to that one."""
    reference_step_seconds: float | None

    @property
    def wall_us(self) -> int:
        return self.spans[-1].end_us - self.spans[0].start_us if self.spans else 0

    @property
    def us_of(self) -> dict[Bucket, int]:
        """Every bucket; together they are the wall time, to the microsecond."""
        total = dict.fromkeys(Bucket, 0)
        for span in self.spans:
            total[span.bucket] += span.end_us - span.start_us
        return total


def timeline_of(
    events: Callable[[], Iterable[AnyEvent]],
    phases: Iterable[Phase],
    *,
    begin: datetime,
    end: datetime,
    is_over: bool,
    reference_step_seconds: float | None = None,
) -> Timeline:
    """`events` gives them from the first, in the order of their time, each time it is called.

    Without a reference step time it is called twice: first the run's own pace is learned.
    """
    phases = sorted(phases, key=lambda phase: phase.at)
    if reference_step_seconds is None:
        learning = Reader(phases, begin=begin, end=end)
        learning.read(islice(events(), _EVENTS_TO_LEARN_FROM))
        reference_step_seconds = learning.pace.seconds
    reader = Reader(phases, begin=begin, end=end, reference_step_seconds=reference_step_seconds)
    reader.read(events())
    spans = reader.finish(is_over=is_over)
    return Timeline(
        spans=spans,
        attempts=reader.attempts,
        kept_step=reader.lineage.kept_step,
        verified_step=reader.verified_step,
        durable_us=_compute_before(reader.durable_until_us, spans),
        reference_step_seconds=reference_step_seconds,
    )


def _compute_before(until_us: int | None, spans: list[Span]) -> int:
    if until_us is None:
        return 0
    return sum(
        min(span.end_us, until_us) - span.start_us
        for span in spans
        if span.bucket is Bucket.COMPUTE and span.start_us < until_us
    )
