"""What a person sees first of a run: its two answers, and the numbers that sum it up."""

from html import escape

from belay.contract.verdict import Durability, Training
from belay.report.formatting import length, percent, usd
from belay.report.record import Record

_SAFE = (Durability.VERIFIED, Durability.NOTHING_SAVED)
_SIGNS = {"good": "✓", "warn": "!", "bad": "✕", "open": "…"}


def title(record: Record) -> str:
    return f"<h1>{escape(record.job)} <code>{escape(record.run)}</code></h1>"


def tone(record: Record) -> str:
    if record.verdict is None:
        return "open"
    if record.verdict.durability not in _SAFE:
        return "bad"
    return "good" if record.verdict.training is Training.COMPLETED else "warn"


def verdict(record: Record) -> str:
    sign = f"<i class=sign>{_SIGNS[tone(record)]}</i>"
    certificate = record.certificate
    if certificate is None:
        body = f"<h2>{escape(record.status)}</h2><p>Its certificate is not there yet.</p>"
    else:
        answers = certificate.verdict
        facts = []
        if certificate.lost:
            facts.append(("work lost", certificate.lost.sentence))
        if certificate.ended:
            facts.append(("training ended by", certificate.ended.by))
        facts.append(("file system", f"{certificate.file_system.id or ''} {certificate.file_system.sentence}"))
        listed = "".join(f"<div><dt>{name}</dt><dd>{escape(value)}</dd></div>" for name, value in facts)
        body = (
            f"<h2>Training {escape(answers.training)}, checkpoints {escape(answers.durability)}</h2>"
            f"<p>{escape(answers.sentence)}</p><dl>{listed}</dl>"
        )
    return f'<section class="card verdict {tone(record)}">{sign}<div>{body}</div></section>'


def figures(record: Record) -> str:
    goodput = record.goodput
    shares = "".join(
        f"<div class=figure><b>{percent(share)}</b><span>{name}</span>"
        f"<i class=meter><i style='width:{share or 0:.2%}'></i></i></div>"
        for share, name in (
            (goodput.time, "time goodput: steps that are kept"),
            (goodput.durable, "durable goodput: those proven in S3"),
            (goodput.dollars, "GPU-dollar goodput: dollars for steps that are kept"),
        )
    )
    story = record.story
    step = "none" if story.last_step is None else f"{story.last_step:,}"
    of_all = f" of {story.total_steps:,}" if story.total_steps else ""
    proven = record.ledger.last_verified_step if record.ledger else None
    counts = "".join(
        f"<div class=figure><b>{value}</b><span>{name}</span></div>"
        for value, name in (
            (usd(goodput.cost.usd), "cost, at most"),
            (length(record.timeline.wall_us / 1e6), "wall time"),
            (step, f"last step{of_all}"),
            ("none" if proven is None else f"{proven:,}", "last step proven in S3"),
            (str(record.timeline.most_attempts), "attempts"),
        )
    )
    return f"<section class=card><div class=shares>{shares}</div><div class=counts>{counts}</div></section>"
