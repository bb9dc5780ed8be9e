"""The cards of the page, one for each question: where the time went, what training did, what is safe, what it cost."""

from datetime import UTC
from html import escape

from belay.contract.ledger import LedgerEntry
from belay.goodput.buckets import MEANINGS, ON_THE_INSTANCE, Bucket
from belay.report.drawing import bars, lanes, slug
from belay.report.formatting import clock, length, percent, usd
from belay.report.loss_curve import curve
from belay.report.record import Record, advice, middle
from belay.report.scales import time_axis

_MOST_ROWS = 200
# What is shown before a person asks for more.
_NEWEST = 12


def time_line(record: Record) -> str:
    timeline = record.timeline
    us_of, wall_us = timeline.us_of, timeline.wall_us or 1
    most = max(us_of.values()) or 1
    rows = "".join(_bucket(bucket, us_of[bucket], us_of[bucket] / wall_us, us_of[bucket] / most) for bucket in Bucket)
    total = (
        "<tr class=total><td>all together</td><td class=n>"
        f"<data value={wall_us / 1e6:.6f}>{length(wall_us / 1e6)}</data></td>"
        "<td class=n>100%</td><td class=share></td><td class=means></td></tr>"
    )
    began, ended = record.started_at.astimezone(UTC), record.ended_at.astimezone(UTC)
    until = f"{ended:%H:%M:%S}" if ended.date() == began.date() else f"{ended:%Y-%m-%d %H:%M:%S}"
    return card(
        "Where the time went",
        f"{lanes(timeline)}{time_axis(wall_us / 1e6)}"
        f"<div class=scroll><table class=buckets>{rows}{total}</table></div>",
        aside=f"{began:%Y-%m-%d %H:%M:%S} to {until} UTC",
    )


def _bucket(bucket: Bucket, us: int, share: float, of_the_longest: float) -> str:
    bar = f"<i class='b-{slug(bucket)}' style='width:{of_the_longest:.2%}'></i>" if us else ""
    return (
        f"<tr{'' if us else ' class=none'}><td><i class='key b-{slug(bucket)}'></i>{bucket.value}</td>"
        f"<td class=n><data value={us / 1e6:.6f}>{length(us / 1e6) if us else '0'}</data></td>"
        f"<td class=n>{percent(share) if us else ''}</td><td class=share>{bar}</td>"
        f"<td class=means>{MEANINGS[bucket]}</td></tr>"
    )


def training(record: Record) -> str:
    story = record.story
    if len(story.points) < 2:
        return ""
    marks = "".join(
        f"<li><span class='when {mark.kind}'>{clock(record.started_at, mark.at)}</span><span>"
        f"{'' if mark.step is None else f'<b>step {mark.step:,}</b> '}{escape(mark.text)}</span></li>"
        for mark in story.marks[:_MOST_ROWS]
    )
    proven = _proven(record)
    shown = [("saved", "saved", story.saves), ("proven", "proven in S3", proven)]
    shown += [
        (kind, kind, [mark for mark in story.marks if mark.kind == kind]) for kind in ("fault", "stop", "restart")
    ]
    attempts = {point.attempt for point in story.points}
    shown.append(("lost", "trained again later", attempts if len(attempts) > 1 else ()))
    legend = "".join(f"<span><i class='{kind}'></i>{name}</span>" for kind, name, there in shown if there)
    losses = [point.loss for point in story.points]
    return card(
        "Loss",
        f"{curve(story, proven)}<div class=legend>{legend}</div>{f'<ul class=marks>{marks}</ul>' if marks else ''}",
        aside=f"{losses[0]:.4f} at first, {min(losses):.4f} at the lowest, {losses[-1]:.4f} at last",
    )


def _proven(record: Record) -> list[int]:
    verified = {entry.step for entry in record.ledger.entries if entry.verified_at} if record.ledger else set()
    return sorted(verified | record.story.proofs.keys())


def saves_cards(record: Record) -> str:
    saves = record.story.saves
    cards = ""
    for title, values in (
        ("Training stood still for a save", [save.stall_seconds for save in saves]),
        ("A save was whole and on disk after", [save.durable_seconds for save in saves]),
        ("A save was proven in S3 after", [proof.lag_seconds for proof in record.story.proofs.values()]),
    ):
        if values:
            half = middle(values) or 0.0
            cards += card(
                title,
                f"<div class=figure><b>{length(half)}</b><span>median of {len(values):,}</span></div>"
                f"{bars(values)}<div class=ends><span>0</span><span>{length(max(values))}</span></div>",
            )
    return f"<div class=beside>{cards}</div>" if cards else ""


def ledger(record: Record) -> str:
    entries = (record.ledger.entries if record.ledger else [])[::-1]
    if not entries:
        return ""
    names = (("step", "n"), ("files", "n wide"), ("size", "n wide"), ("written", "n"), ("proven", "n"), ("in S3", ""))
    head = "<tr>" + "".join(f"<th class='{kind}'>{name}</th>" for name, kind in names) + "</tr>"
    newest, older = (
        "".join(_entry(one, record) for one in some) for some in (entries[:_NEWEST], entries[_NEWEST:_MOST_ROWS])
    )
    inner = f"<div class=scroll><table class=ledger>{head}{newest}</table></div>"
    if older:
        title = f"{len(entries) - _NEWEST} older ones" if len(entries) <= _MOST_ROWS else f"the newest {_MOST_ROWS}"
        inner += (
            f"<details><summary>{title}</summary><div class=scroll><table class=ledger>{older}</table></div></details>"
        )
    proven = sum(entry.verified_at is not None for entry in entries)
    return card("Checkpoints", inner, aside=f"{proven} of {len(entries)} proven in S3; times since the run began")


def _entry(entry: LedgerEntry, record: Record) -> str:
    state = (
        f"<span class=bad>{escape(entry.problem)}</span>"
        if entry.problem
        else f"<span class=good>✓ {entry.proof}</span>"
        if entry.verified_at
        else "<span class=soft>not proven</span>"
    )
    return (
        f"<tr><td class=n>{entry.step:,}</td><td class='n wide'>{entry.files}</td>"
        f"<td class='n wide'>{entry.bytes / 1e6:,.1f} MB</td>"
        f"<td class=n>{clock(record.started_at, entry.written_at)}</td>"
        f"<td class=n>{clock(record.started_at, entry.verified_at)}</td><td>{state}</td></tr>"
    )


def cost(record: Record) -> str:
    spent = record.goodput.cost
    rates = record.plan.rates if record.plan else None
    us_of = record.timeline.us_of
    nodes = len(record.timeline.nodes)
    on_instance = nodes * sum(us for bucket, us in us_of.items() if bucket in ON_THE_INSTANCE) / 1e6
    held = sum(us for bucket, us in us_of.items() if bucket is not Bucket.QUEUE) / 1e6
    rows = "".join(
        f"<tr{' class=total' if name == 'together' else ''}><td>{name}</td><td class=n>{length(seconds)}</td>"
        f"<td class=n>{usd(rate)}</td><td class=n>{usd(amount)}</td></tr>"
        for name, seconds, rate, amount in (
            (
                "instance" if nodes == 1 else f"{nodes} instances",
                on_instance,
                rates.instance_usd_per_hour if rates else None,
                spent.instance_usd,
            ),
            ("file system", held, rates.file_system_usd_per_hour if rates else None, spent.file_system_usd),
            ("together", record.timeline.wall_us / 1e6, rates.usd_per_hour if rates else None, spent.usd),
        )
    )
    return card(
        "Cost",
        "<div class=scroll><table>"
        "<tr><th>part</th><th class=n>for</th><th class=n>an hour</th><th class=n>cost</th></tr>"
        f"{rows}</table></div><p class=note>At the deployment's list prices, and at most: as if both were paid for from"
        " the moment that they were asked for. S3, logs and the flow itself are not in it.</p>",
    )


def improvements(record: Record) -> str:
    found = [f"<li>{escape(one)}</li>" for one in advice(record)] or ["<li>Nothing stands out.</li>"]
    return card("What would improve it", f"<ul class=advice>{''.join(found)}</ul>")


def card(title: str, inner: str, *, aside: str = "") -> str:
    shown = f"<span class=aside>{aside}</span>" if aside else ""
    return f"<section class=card><header><h2>{title}</h2>{shown}</header>{inner}</section>"
