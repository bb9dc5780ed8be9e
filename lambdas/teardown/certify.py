"""Write the certificate: how the run ended, and whether its checkpoints are safe."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import ValidationError

from belay.aws import clock, ledgers, trainer_log
from belay.aws.away import names_services_away
from belay.aws.bucket import Bucket
from belay.aws.clients import client
from belay.aws.environment import Environment
from belay.aws.telemetry import logger, metrics
from belay.contract.certificate import AskedBy, Certificate, CertifiedCheckpoint, TrainingEnd
from belay.contract.ledger import Ledger
from belay.contract.messages.teardown import CertifyAnswer, CertifyQuestion
from belay.contract.paths import RunPrefix
from belay.contract.plan import RunPlan
from belay.contract.prices import Rates
from belay.contract.run import started_at_of
from belay.contract.verdict import Ending, Verdict
from belay.policy import certificates, history, judging, work_lost
from belay.policy.trainer_log import TrainerLog, steps_in
from belay.policy.work_lost import Point
from belay.policy.worth import worth_of

# The clock of the instance and that of the log need not agree.
_MARGIN = timedelta(minutes=5)


class Settings(Environment):
    bucket: str
    trainer_log_group: str


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    question = CertifyQuestion.model_validate(event)
    logger.append_keys(run=question.run)
    bucket = Bucket(client("s3"), settings.bucket)
    prefix = RunPrefix(question.job, question.run)
    evidence = _gather(bucket, prefix, settings)
    is_first = bucket.read(prefix.certificate) is None
    new = _certificate(question, evidence, bucket, prefix)
    standing = _write(bucket, prefix, new, found_gone=question.file_system.fate == "gone")
    # Each time: an earlier certify may have ended between the two, and merging again changes nothing.
    lines = _write_events(bucket, prefix, evidence, standing)
    if is_first:
        _measure_worth(lines, evidence, standing)
    metrics.add_metric(name=f"Checkpoints{standing.verdict.durability}", unit=MetricUnit.Count, value=1)
    if standing.lost:
        metrics.add_metric(name="WorkLostMinutes", unit=MetricUnit.NoUnit, value=standing.lost.minutes)
    answer: CertifyAnswer = certificates.answer_of(standing)
    return answer.model_dump(mode="json")


@dataclass(frozen=True)
class Evidence:
    """All that is known of a run when it is certified."""

    log: TrainerLog
    trainer_lines: list[str]
    ledger: Ledger
    rates: Rates | None
    held: Point | None
    reached: Point | None


def _gather(bucket: Bucket, prefix: RunPrefix, settings: Settings) -> Evidence:
    logs, group = client("logs"), settings.trainer_log_group
    log = trainer_log.with_exported_events(trainer_log.read(logs, group=group, run=prefix.run), bucket, prefix)
    trainer_lines = _lines(bucket.read_end(prefix.trainer_events, most_bytes=trainer_log.MOST_EVENT_BYTES) or b"")
    ledger = ledgers.read(bucket, prefix)
    held = work_lost.held(ledger, log)
    since = held.at - _MARGIN if held else started_at_of(prefix.run)
    steps = trainer_log.steps_since(since, logs, group=group, run=prefix.run, streams=log.streams)
    steps += steps_in(trainer_lines, prefix.run)
    return Evidence(log, trainer_lines, ledger, _rates(bucket, prefix), held, work_lost.reached(log, steps))


def _rates(bucket: Bucket, prefix: RunPrefix) -> Rates | None:
    plan = bucket.read(prefix.plan)
    try:
        return RunPlan.model_validate_json(plan.body).rates if plan else None
    except ValidationError:
        # One of another version: a run is certified all the same, without its price.
        return None


def _certificate(question: CertifyQuestion, evidence: Evidence, bucket: Bucket, prefix: RunPrefix) -> Certificate:
    ledger, log, rates = evidence.ledger, evidence.log, evidence.rates
    ending = judging.corrected(question.ended or judging.NOT_ON_RECORD, log)
    end = certificates.end_of(question.file_system, ledger, log, rates, clock.now())
    # `whole` asks whether a file system may go. Of one that is gone, what was proven before counts.
    is_there = question.file_system.fate != "gone"
    is_whole = question.verification.whole if question.verification and is_there else None
    verdict = Verdict(
        training=ending.outcome,
        durability=certificates.durability_of(end, is_whole, ledger, log),
        reason=ending.reason,
        last_verified_step=ledger.last_verified_step,
        where=bucket.uri(prefix.checkpoints),
    )
    return Certificate(
        run=question.run,
        job=question.job,
        execution_arn=question.execution_arn,
        started_at=question.started_at,
        certified_at=clock.now(),
        verdict=verdict,
        sentence=verdict.sentence,
        ended=_training_end(ending, evidence),
        lost=work_lost.lost(evidence.held, evidence.reached, rates.usd_per_hour if rates else None),
        asked_by=_asked_by(question),
        checkpoints=[
            CertifiedCheckpoint(**entry.model_dump(), manifest=bucket.uri(prefix.manifest(entry.step)))
            for entry in ledger.entries
        ],
        file_system=end,
    )


def _training_end(ending: Ending, evidence: Evidence) -> TrainingEnd:
    moments = [line.event.at for line in evidence.log.lines] + [point.at for point in [evidence.reached] if point]
    attempts = evidence.log.attempts_of_node
    return TrainingEnd(
        by=judging.ended_by(ending),
        last_heard_at=max(moments, default=None),
        attempts=max(attempts.values(), default=0),
        attempts_of_node=attempts,
        host_of_node=evidence.log.host_of_node,
    )


def _asked_by(question: CertifyQuestion) -> AskedBy:
    """A person may write anything there, or nothing."""
    return AskedBy(question.asked_by) if question.asked_by in set(AskedBy) else AskedBy.PERSON


def _write(bucket: Bucket, prefix: RunPrefix, new: Certificate, *, found_gone: bool) -> Certificate:
    def change(before: bytes | None) -> bytes:
        old = Certificate.model_validate_json(before) if before else None
        standing = certificates.standing(old, new, found_gone=found_gone)
        return before if before and standing is old else standing.model_dump_json(indent=1).encode()

    return Certificate.model_validate_json(bucket.update(prefix.certificate, change))


def _measure_worth(lines: list[str], evidence: Evidence, certificate: Certificate) -> None:
    """Once: a file system that is certified again was kept, and no training went on meanwhile."""
    begin, end = certificate.started_at, certificate.certified_at
    try:
        worth = worth_of(lines, evidence.rates, begin=begin, end=end)
    except Exception:
        # A figure for the dashboard. The certificate is written, and nothing may keep the flow from it.
        logger.exception("what the run was worth could not be computed")
        return
    if worth.durable_goodput is not None:
        metrics.add_metric(name="DurableGoodputPercent", unit=MetricUnit.Percent, value=100 * worth.durable_goodput)
    if worth.usd is not None:
        metrics.add_metric(name="RunUsd", unit=MetricUnit.NoUnit, value=worth.usd)


def _write_events(bucket: Bucket, prefix: RunPrefix, evidence: Evidence, certificate: Certificate) -> list[str]:
    of_log = [line.text for line in evidence.log.lines]
    of_belay = history.of_belay(evidence.ledger, evidence.log, certificate)

    def change(before: bytes | None) -> bytes:
        return history.merged(_lines(before or b""), evidence.trainer_lines, of_log, of_belay)

    return _lines(bucket.update(prefix.events, change))


def _lines(body: bytes) -> list[str]:
    return body.decode(errors="replace").splitlines()
