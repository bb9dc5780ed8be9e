"""Judged by what AWS answers before anything is paid for."""

import re
from collections.abc import Sequence

from belay.client.live.judging.answer import Answer, held_if, listed, not_seen
from belay.client.live.seen import Seen, StateResult

# Train and Teardown ask FSx, and a Catch sees one of these: another one would lead past the states made for it.
_FSX_GONE = "FSx.FileSystemNotFoundException"
_FSX_DENIED = "FSx.FSxException"
_FSX_EXECUTING = "FSx.DataRepositoryTaskExecutingException"
# Not the "assumed-role" that stands in each refusal of IAM.
_ASSUME = re.compile(r"\bassume\b", re.IGNORECASE)
# A price in a list has more digits than one in cdk.json.
_SAME_PRICE = 0.005


def definitions(seen: Seen) -> Answer | None:
    if seen.definitions is None:
        return None
    wrong = [f"{one.machine}: {error}" for one in seen.definitions for error in one.errors]
    return held_if(not wrong, "; ".join(wrong) or listed([one.machine for one in seen.definitions]) + " are valid")


def error_of_link(seen: Seen) -> Answer | None:
    return _named(seen.link_without_file_system, [_FSX_DENIED, _FSX_GONE])


def error_of_delete(seen: Seen) -> Answer | None:
    return _named(seen.delete_without_file_system, [_FSX_DENIED, _FSX_GONE])


def error_of_a_second_task(seen: Seen) -> Answer | None:
    tested = seen.export_beside_another_task
    if tested and tested.status == "SUCCEEDED":
        return not_seen("the other task had ended before the call")
    return _named(tested, [_FSX_EXECUTING])


def _named(tested: StateResult | None, names: Sequence[str]) -> Answer | None:
    if tested is None:
        return None
    return _not_run(tested) or held_if(tested.error in names, _of_test(tested))


def fault_in_output(seen: Seen) -> Answer | None:
    tested = seen.fault_in_output
    if tested is None:
        return None
    return _not_run(tested) or held_if(tested.status == "CAUGHT_ERROR", _of_test(tested))


def _not_run(tested: StateResult) -> Answer | None:
    """The role trusts state machines of this account [?]: TestState may be none of them, and then no state was run."""
    cause = tested.cause or ""
    return not_seen(cause) if _ASSUME.search(cause) else None


def _of_test(tested: StateResult) -> str:
    return f"{tested.status}: {tested.error or 'no error'}"


def rights(seen: Seen) -> Answer | None:
    if seen.rights is None:
        return None
    refused = [f"{one.action} on the {one.on}: {one.decision}" for one in seen.rights if one.decision != "allowed"]
    return held_if(not refused, "; ".join(refused) or f"{len(seen.rights)} of {len(seen.rights)} allowed")


def unknown_member(seen: Seen) -> Answer | None:
    error = seen.unknown_member
    # The subnet of the request does not exist either: an error about that says that the rest was taken.
    return None if error is None else held_if("subnet" in error.lower(), error)


def file_system_price(seen: Seen) -> Answer | None:
    return _price(seen.file_system_price_assumed, seen.file_system_prices, "a GB-month")


def instance_price(seen: Seen) -> Answer | None:
    return _price(seen.instance_price_assumed, seen.instance_prices, "an hour")


def _price(assumed: float | None, prices: list[float] | None, of: str) -> Answer | None:
    if prices is None:
        return None
    if assumed is None:
        return not_seen("the deployment has no such price")
    if not prices:
        return not_seen("AWS's price list has none that fits")
    found = any(abs(one - assumed) <= _SAME_PRICE * assumed for one in prices)
    return held_if(found, f"{assumed:g} USD {of} here; in AWS's list {listed([f'{one:g}' for one in prices])}")
