"""Notices, mails to a person about one run, and when the pump sends them: once for each reason. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from belay.contract.events import Saved
from belay.contract.ledger import Ledger
from belay.contract.paths import RunPrefix
from belay.contract.thresholds import BUDGET_ALMOST_SPENT, BUDGET_PERCENT, EXPORT_LATE, LATE_SECONDS


@dataclass(frozen=True)
class Notice:
    subject: str
    job: str
    run: str
    reason: str
    last_verified_step: int | None
    next_command: str
    chapter: str

    @property
    def text(self) -> str:
        step = "none" if self.last_verified_step is None else str(self.last_verified_step)
        return (
            f"Run {self.run} of job {self.job}: {self.reason}\nLast verified step: {step}.\n\n"
            f"Next: {self.next_command}\ndocs/operations.md, {self.chapter}"
        )


def due(
    prefix: RunPrefix,
    ledger: Ledger,
    late: Mapping[int, Saved],
    max_loss_seconds: float | None,
    spent_percent: float | None,
    now: datetime,
) -> dict[str, Notice]:
    """By the name that each has in the ledger."""
    found: dict[str, Notice] = {}
    # A job that may lose more than that lets its exports rest for longer.
    late_seconds = max(LATE_SECONDS, max_loss_seconds or 0)
    overdue = [step for step, save in late.items() if (now - save.at).total_seconds() >= late_seconds]
    if overdue:
        found[EXPORT_LATE] = Notice(
            subject="Belay cannot prove a checkpoint",
            job=prefix.job,
            run=prefix.run,
            reason=f"step {min(overdue)} was saved over {late_seconds / 60:.0f} minutes ago and is not proven in S3."
            " Nothing is lost as long as its file system lives.",
            last_verified_step=ledger.last_verified_step,
            next_command=f"belay status {prefix.run}   belay checkpoints ls {prefix.run}",
            chapter="ExportLate",
        )
    if spent_percent is not None and spent_percent >= BUDGET_PERCENT:
        found[BUDGET_ALMOST_SPENT] = Notice(
            subject="A run of Belay has almost spent its budget",
            job=prefix.job,
            run=prefix.run,
            reason=f"{spent_percent:.0f} % of limits.budget_usd is spent. If it still trains, it saves and stops by"
            " itself before the end of it; the same job with a larger budget goes on from there.",
            last_verified_step=ledger.last_verified_step,
            next_command=f"belay status {prefix.run}",
            chapter="BudgetAlmostSpent",
        )
    return {what: notice for what, notice in found.items() if what not in ledger.told}
