"""A run as a lane for each of its nodes, on which every moment has one name."""

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from belay.contract.events import AnyEvent, Saved
from belay.contract.run import NODES
from belay.goodput.buckets import Bucket
from belay.goodput.flow_states import FlowState
from belay.goodput.pace import Pace
from belay.goodput.reader import OF_BELAY, Attempt, Reader
from belay.goodput.spans import Span

# The pace is that of the beginning: what comes later is measured by it.
_EVENTS_TO_LEARN_FROM = 100_000


@dataclass(frozen=True)
class NodeTimeline:
    node: int
    spans: list[Span]
    """They touch each other: no gap, no overlap."""
    attempts: list[Attempt]
    durable_us: int
    """The compute of the steps up to the newest one that is proven in S3."""


@dataclass(frozen=True)
class Timeline:
    """Nodes work side by side: the run's time is theirs, divided by their number."""

    nodes: list[NodeTimeline]
    kept_step: int | None
    """The newest step that a restart could go on from."""
    verified_step: int | None
    """The newest step that is proven in S3."""
    reference_step_seconds: float | None

    @property
    def wall_us(self) -> int:
        spans = self.nodes[0].spans
        return spans[-1].end_us - spans[0].start_us if spans else 0

    @property
    def us_of(self) -> dict[Bucket, int]:
        """Every bucket; together they are the wall time, to the microsecond."""
        total = dict.fromkeys(Bucket, 0)
        for node in self.nodes:
            for span in node.spans:
                total[span.bucket] += span.end_us - span.start_us
        return _divided(total, len(self.nodes))

    @property
    def durable_us(self) -> int:
        return sum(node.durable_us for node in self.nodes) // len(self.nodes)

    @property
    def attempts(self) -> list[Attempt]:
        return [attempt for node in self.nodes for attempt in node.attempts]

    @property
    def most_attempts(self) -> int:
        """Of the node that made most."""
        return max(len(node.attempts) for node in self.nodes)


def timeline_of(
    events: Callable[[], Iterable[AnyEvent]],
    states: Iterable[FlowState],
    *,
    begin: datetime,
    end: datetime,
    is_over: bool,
    nodes: int = NODES,
    reference_step_seconds: float | None = None,
) -> Timeline:
    """`events` gives them from the first, in the order of their time, each time it is called.

    Without a reference step time it is called twice: first the run's own pace is learned. What names a node that the
    run does not have is passed over.
    """
    states = sorted(states, key=lambda state: state.at)

    def readers(pace: Pace, reference: float | None = None) -> list[Reader]:
        return [
            Reader(node, begin=begin, end=end, pace=pace, knows_flow=bool(states), reference_step_seconds=reference)
            for node in range(nodes)
        ]

    if reference_step_seconds is None:
        learned = Pace()
        _read(readers(learned), islice(events(), _EVENTS_TO_LEARN_FROM * nodes), states)
        reference_step_seconds = learned.seconds
    made = readers(Pace(), reference_step_seconds)
    _read(made, events(), states)
    return Timeline(
        nodes=[_node(reader, is_over=is_over) for reader in made],
        kept_step=_newest(reader.lineage.kept_step for reader in made),
        verified_step=_newest(reader.verified_step for reader in made),
        reference_step_seconds=reference_step_seconds,
    )


def _read(readers: Sequence[Reader], events: Iterable[AnyEvent], states: Iterable[FlowState]) -> None:
    for mark in heapq.merge(events, states, key=lambda mark: mark.at):
        if isinstance(mark, FlowState):
            for reader in readers:
                reader.enter(mark)
        elif isinstance(mark, OF_BELAY):
            for reader in readers:
                reader.read_belay(mark)
        elif mark.node < len(readers):
            readers[mark.node].read_trainer(mark)
            if isinstance(mark, Saved) and mark.attempt == readers[mark.node].attempts[-1].number:
                for reader in readers:
                    reader.learn_save(mark.step)


def _node(reader: Reader, *, is_over: bool) -> NodeTimeline:
    spans = reader.finish(is_over=is_over)
    return NodeTimeline(
        node=reader.node,
        spans=spans,
        attempts=reader.attempts,
        durable_us=_compute_before(reader.durable_until_us, spans),
    )


def _compute_before(until_us: int | None, spans: list[Span]) -> int:
    if until_us is None:
        return 0
    return sum(
        min(span.end_us, until_us) - span.start_us
        for span in spans
        if span.bucket is Bucket.COMPUTE and span.start_us < until_us
    )


def _divided(total: dict[Bucket, int], nodes: int) -> dict[Bucket, int]:
    """Whole microseconds again, and not one of them lost: those that are left over go where most was cut off."""
    shares = {bucket: us // nodes for bucket, us in total.items()}
    left_over = sum(total.values()) // nodes - sum(shares.values())
    for bucket in sorted(total, key=lambda bucket: -(total[bucket] % nodes))[:left_over]:
        shares[bucket] += 1
    return shares


def _newest(steps: Iterable[int | None]) -> int | None:
    return max((step for step in steps if step is not None), default=None)
