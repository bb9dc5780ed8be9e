"""The cards of the page, one for each question: where the time went, what training did, what is safe, what it cost."""

from datetime import UTC, datetime
from html import escape

from contract.ledger import LedgerEntry
from goodput.buckets import MEANINGS, ON_THE_INSTANCE, Bucket
from report.drawing import bars, curve, length, slug, strip
from report.record import Record, advice, middle

_MOST_ROWS = 200


def time_line(record: Record) -> str:
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
    return card(
        "Where the time went",
        f"<div class=strip>{strip(timeline.spans)}</div><div class=ends><span>{began}</span><span>{ended}</span></div>"
        f"<div class=scroll><table>{rows}{total}</table></div>",
    )


def training(record: Record) -> str:
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
    return card(
        "Loss",
        f"{curve(points, [save.step for save in record.story.saves], record.story.marks)}"
        f"<div class=ends><span>step {points[0].step:,}, loss {losses[0]:.4f}</span>"
        f"<span>lowest {min(losses):.4f}</span><span>step {points[-1].step:,}, loss {losses[-1]:.4f}</span></div>"
        f"<div class=legend>{legend}</div>{f'<ul>{marks}</ul>' if marks else ''}",
    )


def saves_cards(record: Record) -> str:
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
            cards += card(title, f"{bars(values)}<div class=ends>{ends}</div>")
    return f"<div class=pair>{cards}</div>"


def ledger(record: Record) -> str:
    entries = record.ledger.entries if record.ledger else []
    if not entries:
        return ""
    rows = "".join(_entry(entry, record) for entry in entries[-_MOST_ROWS:])
    more = f"<p class=soft>The newest {_MOST_ROWS} of {len(entries)}.</p>" if len(entries) > _MOST_ROWS else ""
    return card(
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


def cost(record: Record) -> str:
    spent = record.goodput.cost
    rates = record.plan.rates if record.plan else None
    us_of = record.timeline.us_of
    on_instance = sum(us for bucket, us in us_of.items() if bucket in ON_THE_INSTANCE) / 1e6
    held = sum(us for bucket, us in us_of.items() if bucket is not Bucket.QUEUE) / 1e6
    rows = "".join(
        f"<tr><td>{name}</td><td class=n>{length(seconds)}</td><td class=n>{usd(rate)}</td>"
        f"<td class=n>{usd(amount)}</td></tr>"
        for name, seconds, rate, amount in (
            ("instance", on_instance, rates.instance_usd_per_hour if rates else None, spent.instance_usd),
            ("file system", held, rates.file_system_usd_per_hour if rates else None, spent.file_system_usd),
            ("together", record.timeline.wall_us / 1e6, rates.usd_per_hour if rates else None, spent.usd),
        )
    )
    return card(
        "Cost",
        "<p class=soft>At the deployment's list prices, and at most: as if both were paid for from the moment that they"
        " were asked for. S3, logs and the flow itself are not in it.</p><div class=scroll><table><tr><th>part</th>"
        f"<th class=n>for</th><th class=n>an hour</th><th class=n>cost</th></tr>{rows}</table></div>",
    )


def improvements(record: Record) -> str:
    found = advice(record)
    if not found:
        return card("What would improve it", "<p>Nothing stands out.</p>")
    return card("What would improve it", f"<ul>{''.join(f'<li>{escape(one)}</li>' for one in found)}</ul>")


def card(title: str, inner: str) -> str:
    return f"<section class=card><h2>{title}</h2>{inner}</section>"


def _clock(record: Record, moment: datetime | None) -> str:
    """Since the run began."""
    if moment is None:
        return ""
    return f"+{length(max(0.0, (moment - record.started_at).total_seconds()))}"


def percent(share: float | None) -> str:
    return "unknown" if share is None else f"{share:.1%}"


def usd(amount: float | None) -> str:
    return "unknown" if amount is None else f"{amount:,.2f} USD" if amount >= 0.01 or amount == 0 else "< 0.01 USD"
