"""The page: one file without anything to fetch, for one run or for several side by side."""

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from contract.ledger import LedgerEntry
from contract.verdict import Durability, Training
from goodput.buckets import MEANINGS, ON_THE_INSTANCE, Bucket
from report.drawing import bars, curve, length, slug, strip
from report.record import Record, advice, middle

_CSS = Path(__file__).parent / "page.css"
_SAFE = (Durability.VERIFIED, Durability.NOTHING_SAVED)
_MOST_ROWS = 200


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
        f"<td class=n>{_percent(record.goodput.time)}</td><td class=n>{_percent(record.goodput.durable)}</td>"
        f"<td class=n>{_percent(record.goodput.dollars)}</td><td class=n>{_usd(record.goodput.cost.usd)}</td>"
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
    return _card(
        f"{len(records)} runs", f"<div class=scroll><table><tr>{head}<th class=wide></th></tr>{rows}</table></div>"
    )


def _run(record: Record) -> str:
    return (
        f"<h1>{escape(record.job)} <span class=soft>{escape(record.run)}</span></h1>"
        + _verdict(record)
        + _figures(record)
        + _time_line(record)
        + _training(record)
        + _saves(record)
        + _ledger(record)
        + _cost(record)
        + _advice(record)
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
    cost = record.goodput.cost
    story = record.story
    step = "none" if story.last_step is None else f"{story.last_step:,}"
    if story.total_steps:
        step += f" of {story.total_steps:,}"
    proven = record.ledger.last_verified_step if record.ledger else None
    figures = [
        (_percent(record.goodput.time), "time goodput: time that bought kept steps"),
        (_percent(record.goodput.durable), "durable goodput: those proven in S3"),
        (_percent(record.goodput.dollars), "GPU-dollar goodput"),
        (_usd(cost.usd), "cost, at most"),
        (length(record.timeline.wall_us / 1e6), "wall time"),
        (step, "last step"),
        ("none" if proven is None else f"{proven:,}", "last proven step"),
        (str(len(record.timeline.attempts)), "attempts"),
    ]
    inner = "".join(f"<div class=figure><b>{escape(value)}</b><span>{name}</span></div>" for value, name in figures)
    return f"<div class=card><div class=figures>{inner}</div></div>"


def _time_line(record: Record) -> str:
    timeline = record.timeline
    us_of, wall_us = timeline.us_of, timeline.wall_us or 1
    most = max(us_of.values()) or 1
    rows = ""
    for bucket in Bucket:
        us = us_of[bucket]
        bar = f"<i class='b-{slug(bucket)}' style='width:{us / most * 100:.2f}%'></i>" if us else ""
        rows += (
            f"<tr{'' if us else ' class=none'}><td><i class='key b-{slug(bucket)}'></i>{bucket.value}</td>"
            f"<td class=n>{length(us / 1e6) if us else '0'}</td><td class=n>{us / wall_us:.1%}</td>"
            f"<td class=share>{bar}</td>"
            f"<td class=means>{MEANINGS[bucket]}</td></tr>"
        )
    total = f"<tr><td><b>all together</b></td><td class=n><b>{length(wall_us / 1e6)}</b></td><td class=n>100%</td></tr>"
    began = record.started_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    ended = record.ended_at.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return _card(
        "Where the time went",
        f"<div class=strip>{strip(timeline.spans)}</div><div class=ends><span>{began}</span><span>{ended}</span></div>"
        f"<div class=scroll><table>{rows}{total}</table></div>",
    )


def _training(record: Record) -> str:
    points = record.story.points
    if len(points) < 2:
        return ""
    losses = [point.loss for point in points]
    marks = "".join(
        f"<li><span class={'problem' if mark.kind == 'fault' else 'soft'}>{_clock(record, mark.at)}</span> "
        f"{'' if mark.step is None else f'step {mark.step:,}: '}{escape(mark.text)}</li>"
        for mark in record.story.marks[:_MOST_ROWS]
    )
    names = (("soft", "│ saves"), ("problem", "┆ faults"), ("proven", "┆ restarts"))
    legend = "".join(f"<span class={tone}>{name}</span>" for tone, name in names)
    return _card(
        "Loss",
        f"{curve(points, [save.step for save in record.story.saves], record.story.marks)}"
        f"<div class=ends><span>step {points[0].step:,}, loss {losses[0]:.4f}</span>"
        f"<span>lowest {min(losses):.4f}</span><span>step {points[-1].step:,}, loss {losses[-1]:.4f}</span></div>"
        f"<div class=legend>{legend}</div>{f'<ul>{marks}</ul>' if marks else ''}",
    )


def _saves(record: Record) -> str:
    saves = record.story.saves
    if not saves:
        return ""
    cards = ""
    for title, values in (
        ("Training stood still for a save", [save.stall_seconds for save in saves]),
        ("A save was on disk after", [save.durable_seconds for save in saves]),
        ("It was proven in S3 after", [proof.lag_seconds for proof in record.story.proofs.values()]),
    ):
        if values:
            half = middle(values) or 0.0
            ends = f"<span>0</span><span>median {length(half)}</span><span>{length(max(values))}</span>"
            cards += _card(title, f"{bars(values)}<div class=ends>{ends}</div>")
    return f"<div class=pair>{cards}</div>"


def _ledger(record: Record) -> str:
    entries = record.ledger.entries if record.ledger else []
    if not entries:
        return ""
    rows = "".join(_entry(entry, record) for entry in entries[-_MOST_ROWS:])
    more = f"<p class=soft>The newest {_MOST_ROWS} of {len(entries)}.</p>" if len(entries) > _MOST_ROWS else ""
    return _card(
        "Checkpoints",
        f"{more}<div class=scroll><table><tr><th class=n>step</th><th class=n>files</th><th class=n>size</th>"
        f"<th class=n>written</th><th class=n>proven</th><th>in S3</th></tr>{rows}</table></div>",
    )


def _entry(entry: LedgerEntry, record: Record) -> str:
    state = (
        f"<span class=problem>{escape(entry.problem)}</span>"
        if entry.problem
        else f"<span class=proven>proven by {entry.proof}</span>"
        if entry.verified_at
        else "not proven"
    )
    return (
        f"<tr><td class=n>{entry.step:,}</td><td class=n>{entry.files}</td><td class=n>{entry.bytes / 1e6:,.1f} MB</td>"
        f"<td class=n>{_clock(record, entry.written_at)}</td><td class=n>{_clock(record, entry.verified_at)}</td>"
        f"<td>{state}</td></tr>"
    )


def _cost(record: Record) -> str:
    cost = record.goodput.cost
    rates = record.plan.rates if record.plan else None
    us_of = record.timeline.us_of
    on_instance = sum(us for bucket, us in us_of.items() if bucket in ON_THE_INSTANCE) / 1e6
    held = sum(us for bucket, us in us_of.items() if bucket is not Bucket.QUEUE) / 1e6
    rows = "".join(
        f"<tr><td>{name}</td><td class=n>{length(seconds)}</td><td class=n>{_usd(rate)}</td>"
        f"<td class=n>{_usd(usd)}</td></tr>"
        for name, seconds, rate, usd in (
            ("instance", on_instance, rates.instance_usd_per_hour if rates else None, cost.instance_usd),
            ("file system", held, rates.file_system_usd_per_hour if rates else None, cost.file_system_usd),
            ("together", record.timeline.wall_us / 1e6, rates.usd_per_hour if rates else None, cost.usd),
        )
    )
    return _card(
        "Cost",
        "<p class=soft>At the deployment's list prices, and at most: as if both were paid for from the moment that they"
        " were asked for. S3, logs and the flow itself are not in it.</p><div class=scroll><table><tr><th>part</th>"
        f"<th class=n>for</th><th class=n>an hour</th><th class=n>cost</th></tr>{rows}</table></div>",
    )


def _advice(record: Record) -> str:
    found = advice(record)
    if not found:
        return _card("What would improve it", "<p>Nothing stands out.</p>")
    return _card("What would improve it", f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in found)}</ul>")


def _card(title: str, inner: str) -> str:
    return f"<section class=card><h2>{title}</h2>{inner}</section>"


def _clock(record: Record, moment: datetime | None) -> str:
    """Since the run began."""
    if moment is None:
        return ""
    return f"+{length(max(0.0, (moment - record.started_at).total_seconds()))}"


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def _usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f} USD" if amount >= 0.01 or amount == 0 else "< 0.01 USD"
