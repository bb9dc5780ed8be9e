"""Judged by what FSx, S3, the instance and the histories showed of the run."""

from collections.abc import Sequence

from belay.client.live.judging.answer import Answer, held_if, listed, not_seen, seconds_between
from belay.client.live.seen import Export, Seen
from belay.contract.ledger import LedgerEntry
from belay.contract.states import TeardownState
from belay.contract.verdict import Durability, Training

_AT_ONCE_SECONDS = 1.0


def described(seen: Seen) -> Answer | None:
    if seen.started_at is None or seen.described_at is None:
        return None
    seconds = seconds_between(seen.started_at, seen.described_at)
    return held_if(seconds <= _AT_ONCE_SECONDS, f"described {seconds:.1f} s after it was started", seconds=seconds)


def tags(seen: Seen) -> Answer | None:
    made = seen.file_system
    if made is None:
        return None
    if made.tagged_at is None:
        return held_if(False, "they were never listed")
    seconds = seconds_between(made.first_seen_at, made.tagged_at)
    text = "listed with it" if seconds == 0 else f"not listed for {seconds:.1f} s"
    return held_if(seconds == 0, text, seconds=seconds)


def linked(seen: Seen) -> Answer | None:
    links = list(seen.links.values())
    failed = [f"{one.path}: {one.failure}" for one in links if one.failure]
    if not failed and not any(one.ready_at for one in links):
        return None
    took = [seconds_between(one.created_at, one.ready_at) for one in links if one.ready_at]
    longest = max(took, default=None)
    ready = f"{len(took)} of {len(links)} became AVAILABLE"
    return held_if(not failed, "; ".join(failed) or ready, seconds=longest)


def imports(seen: Seen) -> Answer | None:
    links = [one for one in seen.links.values() if one.ready_at]
    if not links:
        return None
    missing = [one.path for one in links if one.import_listed_at is None]
    if missing:
        return held_if(False, f"of {listed(missing)} no import task was ever listed")
    older = [one.path for one in links if one.import_created_at and one.import_created_at < one.created_at]
    if older:
        return held_if(False, f"the import task of {listed(older)} is older than its link")
    moments = [(one.ready_at, one.import_listed_at) for one in links]
    late = max(seconds_between(ready, at) for ready, at in moments if ready and at)
    return held_if(True, f"each was listed, at the latest {late:.0f} s after its link was AVAILABLE", seconds=late)


def run_task(seen: Seen) -> Answer | None:
    call = seen.run_task
    if call is None:
        return None
    if not call.has_token:
        return not_seen("this deployment sends none (run_task_token is false)")
    return held_if(call.error is None, call.error or "RunTask was called with it, and a task was started")


def memory(seen: Seen) -> Answer | None:
    one = seen.instance
    if one is None:
        return None
    share = one.registered_mib / one.installed_mib
    text = f"{one.type} registered {one.registered_mib} of {one.installed_mib} MiB ({share:.1%})"
    return held_if(one.registered_mib <= one.most_mib, f"{text}; a job may ask for {one.most_mib}")


def renamed(seen: Seen) -> Answer | None:
    proven = [one for one in seen.ledger if one.written_at and one.verified_at]
    if not proven:
        return None
    needed = {one.step: _exports_of(one, seen.exports) for one in proven}
    again = [f"step {step} took {count} exports" for step, count in needed.items() if count > 1]
    took = [seconds_between(one.asked_at, one.verified_at) for one in proven if one.asked_at and one.verified_at]
    whole = f"each of {len(proven)} checkpoints was whole after the first"
    return held_if(not again, listed(again) or whole, seconds=max(took, default=None))


def _exports_of(entry: LedgerEntry, exports: Sequence[Export]) -> int:
    """How many said that they succeeded, from the rename until it was whole in S3."""
    begin, end = entry.written_at, entry.verified_at
    assert begin and end
    return sum(one.succeeded and begin <= one.created_at and one.ended_at <= end for one in exports)


def checksums(seen: Seen) -> Answer | None:
    if not seen.stored:
        return None
    without = [one for one in seen.stored if not ("CRC64NVME" in one.checksums and one.type == "FULL_OBJECT")]
    kinds = sorted({f"{listed(one.checksums) or 'none'} ({one.type}), {_parts(one.parts)}" for one in seen.stored})
    return held_if(not without, "; ".join(kinds))


def deleted(seen: Seen) -> Answer | None:
    if seen.teardown_failures is None or seen.file_system is None:
        return None
    refused = [one.error for one in seen.teardown_failures if one.state == TeardownState.DELETE_FILE_SYSTEM]
    if refused:
        return held_if(False, listed(refused))
    gone = seen.file_system.gone_at
    if gone is None:
        return None
    asked = seen.file_system.deletion_asked_at
    seconds = seconds_between(asked, gone) if asked else None
    return held_if(True, "deleted, with no call refused", seconds=seconds)


def trained_and_safe(seen: Seen) -> Answer | None:
    verdict = seen.verdict
    if verdict is None:
        return None
    if seen.was_stopped:
        return not_seen("the run was stopped")
    good = verdict.training is Training.COMPLETED and verdict.durability is Durability.VERIFIED
    return held_if(good, f"training {verdict.training}, checkpoints {verdict.durability}: {verdict.reason}")


def nothing_left(seen: Seen) -> Answer | None:
    return None if seen.left is None else held_if(not seen.left, listed(seen.left) or "nothing")


def _parts(number: int) -> str:
    return "whole" if number == 1 else f"{number} parts"
