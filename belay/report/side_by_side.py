"""Several runs on one scale: what became of each, their time lines and losses, and each bucket beside the others'."""

from collections.abc import Sequence
from html import escape

from belay.goodput.buckets import Bucket
from belay.report import head
from belay.report.cards import card
from belay.report.drawing import lanes, slug
from belay.report.formatting import length, percent, usd
from belay.report.loss_curve import curves
from belay.report.record import Record
from belay.report.scales import time_axis


def side_by_side(records: Sequence[Record]) -> str:
    return _runs(records) + _time_lines(records) + _losses(records)


def _runs(records: Sequence[Record]) -> str:
    names = ("time goodput", "durable", "dollars", "cost", "wall time", "attempts", "last step")
    heads = "<th>run</th><th>ended</th>" + "".join(f"<th class=n>{name}</th>" for name in names)
    rows = ""
    for number, record in enumerate(records):
        goodput, verdict = record.goodput, record.verdict
        ended = f"{verdict.training}, {verdict.durability}" if verdict else record.status
        cells = (
            *(percent(goodput.time), percent(goodput.durable), percent(goodput.dollars), usd(goodput.cost.usd)),
            *(length(record.timeline.wall_us / 1e6), record.timeline.most_attempts),
            f"{record.story.last_step or 0:,}",
        )
        rows += (
            f"<tr><td>{_name(number, record)}</td><td><span class={head.tone(record)}>{escape(ended)}</span></td>"
            + "".join(f"<td class=n>{cell}</td>" for cell in cells)
            + "</tr>"
        )
    return card(f"{len(records)} runs", f"<div class=scroll><table><tr>{heads}</tr>{rows}</table></div>")


def _time_lines(records: Sequence[Record]) -> str:
    longest_us = max(record.timeline.wall_us for record in records) or 1
    strips = "".join(
        f"<div class=lane>{_name(number, record)}{lanes(record.timeline, height=26, wall_us=longest_us)}</div>"
        for number, record in enumerate(records)
    )
    heads = "".join(f"<th class=n>{_name(number, record)}</th>" for number, record in enumerate(records))
    rows = "".join(
        f"<tr><td><i class='key b-{slug(bucket)}'></i>{bucket.value}</td>"
        + "".join(f"<td class=n>{length(us / 1e6) if us else ''}</td>" for us in of_runs)
        + "</tr>"
        for bucket in Bucket
        if any(of_runs := [record.timeline.us_of[bucket] for record in records])
    )
    return card(
        "Where the time went, on one scale",
        f"{strips}{time_axis(longest_us / 1e6)}<div class=scroll><table><tr><th></th>{heads}</tr>{rows}</table></div>",
    )


def _losses(records: Sequence[Record]) -> str:
    stories = [record.story for record in records]
    if any(len(story.points) < 2 for story in stories):
        return ""
    names = "".join(f"<span>{_name(number, record)}</span>" for number, record in enumerate(records))
    return card("Losses, over steps", f"{curves(stories)}<div class=legend>{names}</div>")


def _name(number: int, record: Record) -> str:
    # The first letters of a run are its date; its last ones differ from run to run.
    return (
        f"<a href='#{escape(record.run)}'><i class='key r-{number % 6}'></i><code>…{escape(record.run[-8:])}</code></a>"
    )
