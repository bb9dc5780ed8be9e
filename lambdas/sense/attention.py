"""When the pump tells a person of a run that still trains: once for each reason. Pure."""

from collections.abc import Mapping
from datetime import datetime

from contract.attention import BUDGET_PERCENT, LATE_SECONDS
from contract.events import Saved
from contract.ledger import Ledger
from contract.paths import RunPrefix
from lambdas.sense.notices import Notice


def due(
    prefix: RunPrefix, ledger: Ledger, late: Mapping[int, Saved], spent_percent: float | None, now: datetime
) -> dict[str, Notice]:
    """By the name under which the ledger remembers that it was told."""
    found: dict[str, Notice] = {}
    overdue = [step for step, save in late.items() if (now - save.at).total_seconds() >= LATE_SECONDS]
    if overdue:
        found["export late"] = Notice(
            subject="Belay cannot prove a checkpoint",
            job=prefix.job,
            run=prefix.run,
            reason=f"step {min(overdue)} was saved over {LATE_SECONDS // 60} minutes ago and is not proven in S3, while"
            " training goes on. Nothing is lost as long as its file system lives.",
            last_verified_step=ledger.last_verified_step,
            next_command=f"belay status {prefix.run}   belay checkpoints ls {prefix.run}",
            chapter="ExportLate",
        )
    if spent_percent is not None and spent_percent >= BUDGET_PERCENT:
        found["budget almost spent"] = Notice(
            subject="A run of Belay has almost spent its budget",
            job=prefix.job,
            run=prefix.run,
            reason=f"{spent_percent:.0f} % of limits.budget_usd is spent. Before the end of it, it saves and stops by"
            " itself; the same job with a larger budget goes on from there.",
            last_verified_step=ledger.last_verified_step,
            next_command=f"belay status {prefix.run}",
            chapter="BudgetAlmostSpent",
        )
    return {what: notice for what, notice in found.items() if what not in ledger.told}
