"""The promises as properties of a state of the whole system. Each check gives what is wrong, in words, or None."""

from functools import cache

from belay.contract.certificate import Certificate
from belay.contract.verdict import Durability, Training
from tools.proofs.model import s3
from tools.proofs.model.aws_state import AwsState
from tools.proofs.model.system import System


def at_any_time(aws: AwsState) -> str | None:
    """What is certified as deleted is deleted or being deleted, at every moment."""
    certificate = certificate_of(aws)
    still = [one for one in aws.file_systems if one.lifecycle in ("CREATING", "AVAILABLE")]
    if certificate and certificate.file_system.fate == "deleted" and still:
        return f"certified as deleted, but {still[0].id} is {still[0].lifecycle}"
    return None


def at_the_end(system: System) -> str | None:
    """Nothing is in progress, and the sweep finds nothing: all three promises."""
    aws = system.aws
    assert aws.train is not None
    return (
        leaks(aws)
        or false_end_of_train(aws)
        or false_certificate(aws)
        or pessimistic_certificate(aws)
        or uncertified(aws)
    )


def certificate_of(aws: AwsState) -> Certificate | None:
    body = aws.s3.get(s3.PREFIX.certificate)
    return _certificate(body) if body else None


@cache
def _certificate(body: bytes) -> Certificate:
    return Certificate.model_validate_json(body)


def everything_is_in_s3(aws: AwsState) -> bool:
    return all(s3.is_whole(aws.s3, step) for step in range(1, aws.saved + 1))


def leaks(aws: AwsState) -> str | None:
    """Promise 2. A file system may stay only if its content is lost."""
    if any(one.may_write for one in aws.trainings):
        return "a training task is left behind"
    for one in aws.file_systems:
        if one.lifecycle != "FAILED":
            return f"{one.id} is left behind, {one.lifecycle}"
    return None


def false_end_of_train(aws: AwsState) -> str | None:
    """Promise 3, for the execution's own end."""
    end = aws.train
    assert end is not None
    if end.status == "SUCCEEDED" and not aws.finished:
        return "Train succeeded, but training did not complete"
    if end.status == "SUCCEEDED" and not everything_is_in_s3(aws):
        return "Train succeeded, but not all checkpoints are in S3"
    return None


def false_end_of_training(system: System) -> str | None:
    """Promise 3, for the end of training that a teardown has in its variables and will certify."""
    endings = [one.frame.variables.get("ended") for one in system.teardowns]
    completed = any(one and one["outcome"] == Training.COMPLETED for one in endings)
    end = system.aws.train
    completed = completed or bool(end and end.error and end.error.startswith(f"Training{Training.COMPLETED}."))
    return "training is recorded as completed, but it is not" if completed and not system.aws.finished else None


def false_certificate(aws: AwsState) -> str | None:
    """Promise 3, for the certificate: both answers of the verdict."""
    certificate = certificate_of(aws)
    if certificate is None:
        return None
    verdict = certificate.verdict
    if verdict.durability is Durability.VERIFIED and not everything_is_in_s3(aws):
        return "certified as verified, but not all checkpoints are in S3"
    if verdict.durability is Durability.NOTHING_SAVED and aws.saved:
        return "certified as nothing saved, but there was a checkpoint"
    if verdict.training is Training.COMPLETED and not aws.finished:
        return "certified as completed, but training did not complete"
    if verdict.last_verified_step and not s3.is_whole(aws.s3, verdict.last_verified_step):
        return f"step {verdict.last_verified_step} is certified, but not whole in S3"
    return None


def unsafe_statement(aws: AwsState) -> str | None:
    """Promise 3, for statements that are never updated: nothing may be saved after them."""
    certificate = certificate_of(aws)
    is_safe = certificate is not None and certificate.verdict.durability in (
        Durability.VERIFIED,
        Durability.NOTHING_SAVED,
    )
    is_stated = is_safe or (aws.train is not None and aws.train.status == "SUCCEEDED")
    for one in aws.trainings if is_stated else ():
        mount = aws.file_system(one.file_system)
        if one.may_write and mount is not None and mount.lifecycle == "AVAILABLE":
            return "all is stated to be safe, but training may still save"
    return None


def pessimistic_certificate(aws: AwsState) -> str | None:
    """Promise 3: nothing is certified as lost or kept that is not."""
    certificate = certificate_of(aws)
    if certificate is None:
        return None
    if certificate.verdict.durability is Durability.LOST and aws.saved and everything_is_in_s3(aws):
        return "certified as lost, but all checkpoints are in S3"
    if certificate.verdict.durability is Durability.KEPT and not aws.file_systems:
        return "certified as kept, but the file system is gone"
    return None


def is_on_record(aws: AwsState) -> bool:
    """Whether the certificate is right about the file system. A refused job needs none."""
    certificate = certificate_of(aws)
    if certificate is None:
        return s3.PREFIX.plan not in aws.s3
    return certificate.file_system.fate != "kept" or bool(aws.file_systems)


def uncertified(aws: AwsState) -> str | None:
    if s3.PREFIX.plan in aws.s3 and certificate_of(aws) is None:
        return "no certificate"
    return None
