"""Sample runs for looking at the report: hours long, with faults, noise and costs."""

import math
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from belay.contract.certificate import Certificate, EndedBy, FileSystemEnd, TrainingEnd, WorkLost
from belay.contract.events import Evaluated, Failed, Finished, Resumed, Saved, Started, Step, Verified
from belay.contract.faults import parse_job
from belay.contract.ledger import Ledger, LedgerEntry, Proof
from belay.contract.plan import RunPlan
from belay.contract.prices import Rates
from belay.contract.verdict import Durability, Training, Verdict
from belay.goodput.flow_states import flow_state_of
from belay.goodput.measures import goodput_of
from belay.goodput.timeline import timeline_of
from belay.report.record import Record
from belay.report.story import Story, collect
from tools.docgen.sample_runs import START, at

_STEPS, _STEP_SECONDS, _SAVE_EVERY, _EVALUATE_EVERY = 2400, 3.1, 120, 400
_RATES = Rates(instance_usd_per_hour=0.8048, file_system_usd_per_hour=0.23)
_BEFORE = (("Accept job", 0), ("Create scratch file system", 4), ("Link to S3", 410), ("Train", 640))


def runs() -> list[Record]:
    """Crashed and went on; crashed for good the second time; undisturbed; crashed, with a file system that was kept."""
    return [
        _run("b", (1430,)),
        _run("c", (700, 1990), attempts=2),
        _run("d", ()),
        _run("e", (1010,), attempts=1, durability=Durability.KEPT),
    ]


class _Training:
    """One training, second by second."""

    def __init__(self, run: str, crashes: tuple[int, ...], attempts: int) -> None:
        self.run, self.crashes, self.attempts, self.chance = run, list(crashes), attempts, Random(run)
        self.now, self.attempt, self.step = 870.0, 1, 0
        self.entries: dict[int, LedgerEntry] = {}

    def event(self, kind: type, **fields: Any) -> Any:
        return kind(at=at(self.now), run=self.run, attempt=self.attempt, **fields)

    def events(self) -> Iterator[Any]:
        yield self.event(Started, job="support-classifier", processes=1)
        self.now += 41
        while self.step < _STEPS and self.attempt <= self.attempts:
            self.step += 1
            self.now += _STEP_SECONDS * (1 + 0.03 * self.chance.random() + (1700 < self.step <= 1760))
            if self.step % 10 == 0:
                loss = 0.35 + 2.4 * math.exp(-self.step / 520) + 0.06 * self.chance.gauss(0, 1)
                fields = {"step": self.step, "total_steps": _STEPS, "loss": loss, "step_seconds": _STEP_SECONDS}
                yield self.event(Step, **fields)
            if self.step % _SAVE_EVERY == 0:
                yield from self._save()
            if self.step % _EVALUATE_EVERY == 0:
                self.now += 38
                yield self.event(Evaluated, step=self.step, metrics={"eval_runtime": 38.0})
            if self.crashes and self.step == self.crashes[0]:
                yield from self._crash()
        if self.attempt <= self.attempts:
            self.now += 6
            yield self.event(Finished, step=self.step)

    def _save(self) -> Iterator[Any]:
        durable, lag = 1.4 + abs(self.chance.gauss(0, 0.5)), 34 + 40 * self.chance.random()
        cost = {"stall_seconds": 0.006 + abs(self.chance.gauss(0, 0.004)), "durable_seconds": durable}
        what = {"path": f"run/checkpoints/checkpoint-{self.step}", "files": 11, "bytes": 806_214_144}
        yield self.event(Saved, step=self.step, **what, **cost, manifest_crc64nvme="AAAAAAAAAAA=")
        written, proven = at(self.now), at(self.now + lag)
        proof: Any = {"proof": Proof.CRC64NVME, "files": 11, "bytes": 806_214_144}
        self.entries[self.step] = LedgerEntry(step=self.step, written_at=written, verified_at=proven, **proof)
        yield Verified(at=proven, run=self.run, attempt=1, step=self.step, proof="crc64nvme", lag_seconds=lag)

    def _crash(self) -> Iterator[Any]:
        self.crashes.pop(0)
        reason = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.12 GiB"
        yield self.event(Failed, exit_code=1, reason=reason)
        self.attempt += 1
        if self.attempt > self.attempts:
            return
        self.now += 190
        self.step = self.step // _SAVE_EVERY * _SAVE_EVERY
        yield self.event(Started, job="support-classifier", processes=1)
        self.now += 37
        yield self.event(Resumed, step=self.step, source="run/checkpoints")


def _run(
    letter: str, crashes: tuple[int, ...], *, attempts: int = 3, durability: Durability = Durability.VERIFIED
) -> Record:
    run = f"20261121t024455z-3f9a2c1{letter}"
    training = _Training(run, crashes, attempts)
    events = sorted(training.events(), key=lambda one: one.at)
    ended = training.now
    after = (("Teardown", 2), ("Export to S3", 55), ("Verify", 140), ("Delete file system", 152), ("Certify", 430))
    states = [*_BEFORE, *((name, ended + seconds) for name, seconds in after)]
    phases = [phase for name, seconds in states if (phase := flow_state_of(at(seconds), name))]
    stories: list[Story] = []

    def again() -> Iterator[Any]:
        stories.append(Story())
        return collect(iter(events), stories[-1])

    end = at(ended + 441)
    timeline = timeline_of(again, phases, begin=START, end=end, is_over=True)
    entries = [training.entries[step] for step in sorted(training.entries)]
    if durability is Durability.KEPT:
        entries[-1] = entries[-1].model_copy(update={"verified_at": None, "problem": "optimizer.pt differs in S3"})
    ledger = Ledger(run=run, entries=entries)
    return Record(
        run=run,
        job="support-classifier",
        started_at=START,
        ended_at=end,
        status="SUCCEEDED",
        certificate=_certificate(training, durability, end, ledger.last_verified_step),
        plan=_plan(run),
        ledger=ledger,
        timeline=timeline,
        goodput=goodput_of(timeline, _RATES),
        story=stories[-1],
    )


def _certificate(training: _Training, durability: Durability, end: datetime, last: int | None) -> Certificate:
    done = training.step == _STEPS
    fate: Any = "kept" if durability is Durability.KEPT else "deleted"
    at_end = (
        {"deleted_at": end - timedelta(seconds=12)} if fate == "deleted" else {"kept_since": end, "usd_a_day": 5.52}
    )
    verdict = Verdict(
        training=Training.COMPLETED if done else Training.CRASHED,
        durability=durability,
        reason="the trainer exited with code 0" if done else "the trainer exited with code 1",
        last_verified_step=last,
        where=f"s3://belay-bucket/jobs/support-classifier/{training.run}/checkpoints/",
    )
    steps = training.step - (last or 0)
    return Certificate(
        run=training.run,
        job="support-classifier",
        execution_arn="arn",
        started_at=START,
        certified_at=end,
        verdict=verdict,
        sentence=verdict.sentence,
        ended=TrainingEnd(by=EndedBy.TRAINING, last_heard_at=at(training.now), attempts=training.attempts),
        lost=WorkLost(steps=steps, minutes=round(steps * _STEP_SECONDS / 60, 1), usd=round(steps * 0.0009, 2)),
        checkpoints=[],
        file_system=FileSystemEnd(id="fs-0a1b2c3d4e5f67890", fate=fate, **at_end),
    )


def _plan(run: str) -> RunPlan:
    train = {"command": ["python", "train.py"]}
    return RunPlan(
        run=run,
        execution_arn="arn",
        started_at=START,
        bucket="belay-bucket",
        prefix=f"jobs/support-classifier/{run}/",
        job=parse_job({"name": "support-classifier", "dataset": {"s3": "datasets/tickets/"}, "train": train}),
        resume=None,
        rates=_RATES,
    )
