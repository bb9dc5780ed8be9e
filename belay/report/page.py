"""The page: one file without anything to fetch, for one run or for several side by side."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from belay.goodput.buckets import Bucket
from belay.report import head
from belay.report.cards import cost, improvements, ledger, saves_cards, time_line, training
from belay.report.drawing import slug
from belay.report.record import Record
from belay.report.side_by_side import side_by_side

_CSS = Path(__file__).parent / "page.css"


def render(records: Sequence[Record]) -> str:
    colours = "".join(
        f".b-{slug(bucket)}{{fill:var(--{slug(bucket)});background:var(--{slug(bucket)})}}" for bucket in Bucket
    )
    title = ", ".join(record.run for record in records)
    body = (side_by_side(records) if len(records) > 1 else "") + "".join(_run(record) for record in records)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Belay</title><style>{_CSS.read_text()}{colours}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _run(record: Record) -> str:
    return (
        f"<article id='{escape(record.run)}'>"
        + head.title(record)
        + head.verdict(record)
        + head.figures(record)
        + time_line(record)
        + training(record)
        + saves_cards(record)
        + ledger(record)
        + f"<div class=beside>{cost(record)}{improvements(record)}</div></article>"
    )
