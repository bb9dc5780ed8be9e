"""Everything that the page says of one run, as numbers; `--json` is this."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from statistics import median
from typing import Any

from belay.contract.certificate import Certificate
from belay.contract.ledger import Ledger
from belay.contract.plan import RunPlan
from belay.contract.verdict import Verdict
from belay.goodput.buckets import Bucket
from belay.goodput.measures import Goodput
from belay.goodput.timeline import Timeline
from belay.report.story import Story


@dataclass(frozen=True)
class Record:
    run: str
    job: str
    started_at: datetime
    ended_at: datetime
    status: str
    certificate: Certificate | None
    plan: RunPlan | None
    ledger: Ledger | None
    timeline: Timeline
    goodput: Goodput
    story: Story

    @property
    def verdict(self) -> Verdict | None:
        return self.certificate.verdict if self.certificate else None

    def document(self) -> dict[str, Any]:
        us_of = self.timeline.us_of
        cost = self.goodput.cost
        return {
            "run": self.run,
            "job": self.job,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "status": self.status,
            "verdict": self.verdict.model_dump(mode="json") if self.verdict else None,
            "lost": self.certificate.lost.model_dump(mode="json")
            if self.certificate and self.certificate.lost
            else None,
            "wall_seconds": self.timeline.wall_us / 1e6,
            "seconds": {bucket.value: us_of[bucket] / 1e6 for bucket in Bucket},
            "goodput": {"time": self.goodput.time, "dollars": self.goodput.dollars, "durable": self.goodput.durable},
            "usd": {"instance": cost.instance_usd, "file_system": cost.file_system_usd, "all": cost.usd},
            "reference_step_seconds": self.timeline.reference_step_seconds,
            "attempts": [
                {
                    "node": one.node,
                    "attempt": one.number,
                    "resumed_from": one.resumed_from,
                    "last_step": one.last_step,
                    "end": one.end,
                }
                for one in self.timeline.attempts
            ],
            "saves": {
                "count": len(self.story.saves),
                "stall_seconds_median": middle([save.stall_seconds for save in self.story.saves]),
                "durable_seconds_median": middle([save.durable_seconds for save in self.story.saves]),
                "proof_lag_seconds_median": middle([proof.lag_seconds for proof in self.story.proofs.values()]),
            },
            "checkpoints": [entry.model_dump(mode="json") for entry in self.ledger.entries] if self.ledger else [],
            "advice": advice(self),
        }


def middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def advice(record: Record) -> list[str]:
    """What would have made this run better, each with the number that says so."""
    us_of, wall_us = record.timeline.us_of, record.timeline.wall_us or 1
    saves = record.story.saves
    found = []
    if us_of[Bucket.LOST] > 0.02 * wall_us:
        share = us_of[Bucket.LOST] / wall_us
        found.append(f"Save more often (checkpoint.every): {share:.0%} of the time went into steps that were lost.")
    if us_of[Bucket.SAVE] > 0.02 * wall_us:
        share = us_of[Bucket.SAVE] / wall_us
        found.append(
            f"Saves blocked training for {share:.1%} of the time: see in the trainer's log why they could not be"
            " overlapped (often too little resources.memory)."
        )
    durable, between = middle([save.durable_seconds for save in saves]), _between(record)
    if durable and between and durable > 0.5 * between:
        found.append(
            f"A save takes {durable:.0f} s to be on disk, and one begins every {between:.0f} s: a larger scratch.size"
            " writes faster, or save less often."
        )
    if us_of[Bucket.INSTANCE] > 0.2 * wall_us:
        share = us_of[Bucket.INSTANCE] / wall_us
        found.append(f"{share:.0%} of the time was waiting for an instance and its image: longer runs weigh it less.")
    if us_of[Bucket.SLOWDOWN] > 0.05 * wall_us:
        share = us_of[Bucket.SLOWDOWN] / wall_us
        found.append(
            f"{share:.0%} of the time went into steps that were slower than this run's own pace: data loading?"
        )
    if record.goodput.cost.usd is None:
        found.append("Set 'prices' in cdk.json: then this page knows what the run cost.")
    return found


def _between(record: Record) -> float | None:
    moments = sorted(save.at for save in record.story.saves)
    return middle([(two - one).total_seconds() for one, two in pairwise(moments)])
