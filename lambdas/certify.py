"""Write down, once and for all, how the run ended and whether its checkpoints are safe."""

from datetime import datetime
from typing import Any

from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from contract.certificate import Certificate
from contract.ledger import Ledger
from contract.paths import RunPrefix
from contract.verdict import Verdict
from lambdas.sense import bookkeeping, certificates, clock, history, judging, witness
from lambdas.sense.bucket import Bucket
from lambdas.sense.certificates import FileSystemFate
from lambdas.sense.clients import client
from lambdas.sense.environment import Environment
from lambdas.sense.judging import Ending
from lambdas.sense.telemetry import logger, metrics
from lambdas.sense.witness import Witness


class Settings(Environment):
    bucket: str
    trainer_log_group: str


class Verification(BaseModel):
    """Of what `verify` answered, the part that matters here."""

    whole: bool


class Question(BaseModel):
    execution_arn: str
    run: str
    job: str
    started_at: datetime
    ended: Ending | None
    file_system: FileSystemFate
    verification: Verification | None


@logger.inject_lambda_context(clear_state=True)
@metrics.log_metrics
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    settings = Settings.read()
    question = Question.model_validate(event)
    logger.append_keys(run=question.run)
    bucket = Bucket(client("s3"), settings.bucket)
    prefix = RunPrefix(question.job, question.run)
    told = witness.from_log(client("logs"), group=settings.trainer_log_group, run=question.run)
    told = witness.with_exported_events(told, bucket, prefix)
    ledger = bookkeeping.read(bucket, prefix)

    new = _certificate(question, ledger, told, bucket.uri(prefix.checkpoints))
    standing = _write(bucket, prefix, new, found_gone=question.file_system.fate == "gone")
    # Each time: an earlier certify may have ended between the two, and merging again changes nothing.
    _write_events(bucket, prefix, ledger, told, standing)
    metrics.add_metric(name=f"Checkpoints{standing.verdict.durability}", unit=MetricUnit.Count, value=1)
    return {
        "training": standing.verdict.training,
        "durability": standing.verdict.durability,
        "sentence": standing.sentence,
        "error": standing.verdict.error,
        "last_verified_step": standing.verdict.last_verified_step,
    }


def _certificate(question: Question, ledger: Ledger, told: Witness, where: str) -> Certificate:
    ending = judging.corrected(question.ended or judging.NOT_ON_RECORD, told)
    end = certificates.end_of(question.file_system, ledger, told)
    # `whole` asks whether a file system may go. Of one that is gone, what was proven before counts.
    is_there = question.file_system.fate != "gone"
    is_whole = question.verification.whole if question.verification and is_there else None
    verdict = Verdict(
        training=ending.outcome,
        durability=certificates.durability_of(end, is_whole, ledger, told),
        reason=ending.reason,
        last_verified_step=ledger.last_verified_step,
        where=where,
    )
    return Certificate(
        run=question.run,
        job=question.job,
        execution_arn=question.execution_arn,
        started_at=question.started_at,
        certified_at=clock.now(),
        verdict=verdict,
        sentence=verdict.sentence,
        checkpoints=ledger.entries,
        file_system=end,
    )


def _write(bucket: Bucket, prefix: RunPrefix, new: Certificate, *, found_gone: bool) -> Certificate:
    def change(before: bytes | None) -> bytes:
        old = Certificate.model_validate_json(before) if before else None
        standing = certificates.standing(old, new, found_gone=found_gone)
        return before if before and standing is old else standing.model_dump_json(indent=1).encode()

    return Certificate.model_validate_json(bucket.update(prefix.certificate, change))


def _write_events(bucket: Bucket, prefix: RunPrefix, ledger: Ledger, told: Witness, certificate: Certificate) -> None:
    trainer = bucket.read_end(prefix.trainer_events, most_bytes=witness.MOST_EVENT_BYTES) or b""
    of_log = [line.text for line in told.lines]
    of_belay = history.of_belay(ledger, told, certificate)

    def change(before: bytes | None) -> bytes:
        return history.merged(_lines(before or b""), _lines(trainer), of_log, of_belay)

    bucket.update(prefix.events, change)


def _lines(body: bytes) -> list[str]:
    return body.decode(errors="replace").splitlines()
