"""What a round of the pump does for one run: compare what is due with S3, export the rest, and say what is late."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from belay.aws import ledgers, notices, scratch, verification
from belay.aws.bucket import Bucket
from belay.aws.ledgers import RecentLedger
from belay.aws.pump_states import StoredState
from belay.aws.telemetry import logger
from belay.contract.events import Saved
from belay.contract.paths import EXPORTED_CHECKPOINTS, RunPrefix
from belay.contract.plan import RunPlan
from belay.contract.pump_state import PumpState
from belay.policy import notices as due_notices
from belay.policy import pump_measures, pumping
from belay.policy.ledgers import merged, with_export, with_told
from belay.policy.pump_measures import Measure
from belay.policy.pump_state import settled
from belay.policy.pumping import Action


@dataclass(frozen=True)
class Served:
    answer: dict[str, Any]
    measures: list[Measure]


@dataclass
class PumpedRun:
    """One run in one round."""

    fsx: Any
    sns: Any
    bucket: Bucket
    topic_arn: str
    file_system_id: str
    stored: StoredState
    state: PumpState
    """With what was read of the log in this round."""
    now: datetime
    measures: list[Measure] = field(default_factory=list)

    @property
    def prefix(self) -> RunPrefix:
        return self.stored.prefix

    def serve(self) -> Served | None:
        """None where another round is still at work on this run."""
        if self.stored.is_leased(self.now):
            return None
        ledger = ledgers.read_recent(
            self.bucket, self.prefix, self.state.newest, self.state.ledger, self.state.ledger_etag
        )
        due = pumping.due(self.state.current_saves, ledger.ledger)
        if due:
            leased = self.stored.leased(self.state, self.now)
            if leased is None:
                return None
            self.stored = leased
        answer = None
        try:
            ledger = self._prove(ledger, due)
            due = pumping.due(self.state.current_saves, ledger.ledger)
            ledger, answer = self._export(ledger, due)
        finally:
            remembered = self.state.model_copy(update={"ledger": ledger.ledger, "ledger_etag": ledger.etag})
            self.stored.released(settled(remembered))
        return Served(answer, self.measures)

    def _prove(self, ledger: RecentLedger, due: Mapping[int, Saved]) -> RecentLedger:
        if not due:
            return ledger
        findings = verification.prove_some(self.bucket, self.prefix, due)
        after = ledger.changed(lambda before: merged(before, findings, due, set(), self.now))
        self.measures += pump_measures.export_lags(ledger.ledger, after.ledger)
        return after

    def _export(self, ledger: RecentLedger, due: Mapping[int, Saved]) -> tuple[RecentLedger, dict[str, Any]]:
        plan = self._plan()
        max_loss_seconds = plan.max_loss_seconds if plan else None
        running = bool(due) and scratch.export_running(self.fsx, self.file_system_id)
        rests = max_loss_seconds is not None and pumping.may_rest(
            ledger.ledger, max_loss_seconds=max_loss_seconds, now=self.now
        )
        decision = pumping.decide(self.file_system_id, due, task_running=running, now=self.now, rests=rests)
        task_id = None
        if decision.action is Action.EXPORT and decision.token:
            task_id = scratch.start_export(
                self.fsx, self.file_system_id, paths=[EXPORTED_CHECKPOINTS], token=decision.token
            )
        if task_id:
            ledger = ledger.changed(lambda before: with_export(before, due, self.now))
        # What rests by plan is not late.
        ledger = self._notify(ledger, {} if rests else due, plan)
        return ledger, {
            "id": self.file_system_id,
            "run": self.prefix.run,
            "action": decision.action,
            "task_id": task_id,
            "due_steps": sorted(due),
            "last_verified_step": ledger.ledger.last_verified_step,
        }

    def _notify(self, ledger: RecentLedger, late: Mapping[int, Saved], plan: RunPlan | None) -> RecentLedger:
        max_loss_seconds = plan.max_loss_seconds if plan else None
        risk_seconds = None if max_loss_seconds is None else pump_measures.at_risk_seconds(ledger.ledger, self.now)
        if max_loss_seconds is not None and risk_seconds is not None and risk_seconds > max_loss_seconds:
            logger.warning(
                "more is at risk than max_loss allows",
                extra={"run": self.prefix.run, "at_risk": risk_seconds, "max_loss": max_loss_seconds},
            )
        spent = pump_measures.spent_percent(plan, self.now)
        self.measures += pump_measures.of_run(late, risk_seconds=risk_seconds, spent_percent=spent, now=self.now)
        due = due_notices.due(self.prefix, ledger.ledger, late, max_loss_seconds, spent, self.now)
        sent = [what for what, notice in due.items() if notices.tell(self.sns, self.topic_arn, notice)]
        return ledger.changed(lambda before: with_told(before, sent, self.now))

    def _plan(self) -> RunPlan | None:
        plan = self.bucket.read(self.prefix.plan)
        try:
            return RunPlan.model_validate_json(plan.body) if plan else None
        except ValidationError:
            # Of another version, or damaged: what it asks for is unknown, its checkpoints are exported all the same.
            logger.warning("the plan of the run cannot be read", extra={"plan": self.prefix.plan})
            return None
