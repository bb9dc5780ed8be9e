"""The page: one file without anything to fetch, for one run or for several side by side."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from contract.verdict import Durability, Training
from goodput.buckets import Bucket
from report.cards import card, cost, improvements, ledger, percent, saves_cards, time_line, training, usd
from report.drawing import length, slug, strip
from report.record import Record

_CSS = Path(__file__).parent / "page.css"
_SAFE = (Durability.VERIFIED, Durability.NOTHING_SAVED)


def render(records: Sequence[Record]) -> str:
    colours = "".join(
        f".b-{slug(bucket)}{{fill:var(--{slug(bucket)});background:var(--{slug(bucket)})}}" for bucket in Bucket
    )
    title = ", ".join(record.run for record in records)
    body = (_comparison(records) if len(records) > 1 else "") + "".join(_run(record) for record in records)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)} · Belay</title><style>{_CSS.read_text()}{colours}</style></head>"
        f"<body><main>{body}</main></body></html>\n"
    )


def _comparison(records: Sequence[Record]) -> str:
    rows = "".join(
        f"<tr><td>{escape(record.run)}<br><span class=soft>{escape(record.job)}</span></td>"
        f"<td>{escape(record.verdict.training if record.verdict else record.status)}</td>"
        f"<td class=n>{length(record.timeline.wall_us / 1e6)}</td>"
        f"<td class=n>{percent(record.goodput.time)}</td><td class=n>{percent(record.goodput.durable)}</td>"
        f"<td class=n>{percent(record.goodput.dollars)}</td><td class=n>{usd(record.goodput.cost.usd)}</td>"
        f'<td class="share wide"><div class=strip>{strip(record.timeline.spans, height=16)}</div></td></tr>'
        for record in records
    )
    head = "".join(
        f"<th{' class=n' if number else ''}>{name}</th>"
        for name, number in (
            *(("run", False), ("training", False), ("wall time", True), ("time goodput", True)),
            *(("durable", True), ("dollars", True), ("cost", True)),
        )
    )
    return card(
        f"{len(records)} runs", f"<div class=scroll><table><tr>{head}<th class=wide></th></tr>{rows}</table></div>"
    )


def _run(record: Record) -> str:
    return (
        f"<h1>{escape(record.job)} <span class=soft>{escape(record.run)}</span></h1>"
        + _verdict(record)
        + _figures(record)
        + time_line(record)
        + training(record)
        + saves_cards(record)
        + ledger(record)
        + cost(record)
        + improvements(record)
    )


def _verdict(record: Record) -> str:
    certificate = record.certificate
    if certificate is None:
        return f'<div class="card verdict"><b>{escape(record.status)}</b><p>Its certificate is not there yet.</p></div>'
    verdict = certificate.verdict
    safe = verdict.durability in _SAFE
    tone = "good" if safe and verdict.training is Training.COMPLETED else "warn" if safe else "bad"
    facts = [("file system", f"{certificate.file_system.id or ''} {certificate.file_system.sentence}")]
    if certificate.ended:
        facts.insert(0, ("training was ended by", certificate.ended.by))
    if certificate.lost:
        facts.insert(0, ("work lost", certificate.lost.sentence))
    told = " · ".join(f"{name}: {escape(value)}" for name, value in facts)
    return (
        f'<div class="card verdict {tone}"><b>Training {escape(verdict.training)}, '
        f"checkpoints {escape(verdict.durability)}</b><p>{escape(verdict.sentence)}</p><p class=soft>{told}</p></div>"
    )


def _figures(record: Record) -> str:
    spent = record.goodput.cost
    story = record.story
    step = "none" if story.last_step is None else f"{story.last_step:,}"
    if story.total_steps:
        step += f" of {story.total_steps:,}"
    proven = record.ledger.last_verified_step if record.ledger else None
    figures = [
        (percent(record.goodput.time), "time goodput: time that bought kept steps"),
        (percent(record.goodput.durable), "durable goodput: those proven in S3"),
        (percent(record.goodput.dollars), "GPU-dollar goodput"),
        (usd(spent.usd), "cost, at most"),
        (length(record.timeline.wall_us / 1e6), "wall time"),
        (step, "last step"),
        ("none" if proven is None else f"{proven:,}", "last proven step"),
        (str(len(record.timeline.attempts)), "attempts"),
    ]
    inner = "".join(f"<div class=figure><b>{escape(value)}</b><span>{name}</span></div>" for value, name in figures)
    return f"<div class=card><div class=figures>{inner}</div></div>"
