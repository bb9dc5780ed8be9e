"""What a run's certificate says, and when a later one may take its place. Pure."""

from datetime import datetime

from pydantic import ValidationError

from belay.contract.certificate import Certificate, FileSystemEnd
from belay.contract.ledger import Ledger
from belay.contract.messages.teardown import CertifyAnswer, FileSystemFate
from belay.contract.prices import Rates
from belay.contract.verdict import Durability, Training
from belay.policy.pumping import due
from belay.policy.trainer_log import TrainerLog


def end_of(done: FileSystemFate, ledger: Ledger, log: TrainerLog, rates: Rates | None, now: datetime) -> FileSystemEnd:
    """A file system that is not there now was there once if anything was ever said or saved on it."""
    if done.fate == "kept":
        return FileSystemEnd(
            id=done.id,
            fate="kept",
            created_at=done.created_at,
            kept_since=done.kept_since or now,
            kept_why=done.why,
            usd_a_day=rates.file_system_usd_a_day if rates else None,
        )
    was_there = done.fate == "deleted" or (done.fate == "gone" and (log.lines or ledger.entries))
    if not was_there:
        return FileSystemEnd(id=done.id, fate="never created")
    return FileSystemEnd(id=done.id, fate="deleted", created_at=done.created_at, deleted_at=now)


def durability_of(end: FileSystemEnd, is_whole: bool | None, ledger: Ledger, log: TrainerLog) -> Durability:
    """`is_whole` is what verification said; None where there was nothing to verify."""
    if end.fate == "kept":
        return Durability.KEPT
    all_proven = is_whole if is_whole is not None else not due(log.current_saves, ledger)
    if not all_proven:
        return Durability.LOST
    return Durability.NOTHING_SAVED if ledger.last_verified_step is None else Durability.VERIFIED


def says_kept(body: bytes) -> bool:
    """Out of date if the file system is gone: the teardown that deleted it failed to replace the certificate."""
    try:
        return Certificate.model_validate_json(body).file_system.fate == "kept"
    except ValidationError:
        return False


def answer_of(certificate: Certificate) -> CertifyAnswer:
    verdict = certificate.verdict
    return CertifyAnswer(
        training=verdict.training,
        durability=verdict.durability,
        sentence=certificate.sentence,
        error=verdict.error,
        last_verified_step=verdict.last_verified_step,
    )


def standing(before: Certificate | None, new: Certificate, *, found_gone: bool = False) -> Certificate:
    """The one of both that stands. `found_gone`: someone has just looked for the file system, and it is not there.

    How training ended is answered once, by the first certificate: it was written nearest to the end. What became of
    the file system may still change, from kept (or not yet seen) to deleted. After `deleted` only a proof changes
    anything: FSx may have answered wrongly that nothing is there.
    """
    if before is None:
        return new
    fate, new_fate = before.file_system.fate, new.file_system.fate
    if fate == "kept" and new_fate == "never created" and found_gone:
        # It held nothing and said nothing, so nothing but the certificate before remembers that it was there.
        gone = FileSystemEnd(id=before.file_system.id, fate="deleted", deleted_at=new.certified_at)
        new = new.model_copy(update={"file_system": gone})
    elif new_fate == "never created" or (fate == "deleted" and not _proves_what_was_lost(before, new)):
        return before
    if before.verdict.training is Training.NEVER_STARTED:
        return new
    verdict = new.verdict.model_copy(update={"training": before.verdict.training, "reason": before.verdict.reason})
    update = {"verdict": verdict, "sentence": verdict.sentence, "ended": before.ended or new.ended}
    return new.model_copy(update=update | {"file_system": _remembering(before.file_system, new.file_system)})


def _proves_what_was_lost(before: Certificate, new: Certificate) -> bool:
    return before.verdict.durability is Durability.LOST and new.verdict.durability is Durability.VERIFIED


def _remembering(before: FileSystemEnd, new: FileSystemEnd) -> FileSystemEnd:
    """What was known of it then, and what a later teardown can no longer see: it may have been kept before."""
    names = ("id", "created_at", "kept_since", "kept_why")
    return new.model_copy(update={name: getattr(new, name) or getattr(before, name) for name in names})
