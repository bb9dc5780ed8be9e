"""The tokens of exports, which depend on the teardown and on how often it has exported before."""

import hashlib
from functools import cache

from tools.proofs.model.aws_state import AwsState, Export
from tools.proofs.model.fsx import release
from tools.proofs.model.interpreter import BEYOND_EVERY_LIMIT, TRIES
from tools.proofs.model.system import SLOTS, Teardown, teardown_arn


def without_old_exports(aws: AwsState, one: Teardown) -> AwsState:
    """A teardown reads only its last export, and only in these two states."""
    variables, state = one.frame.variables, one.frame.state
    asked = {
        "Export: how far?": variables.get("task_id"),
        "Export to S3": f"task-{_token(one.slot, variables.get(TRIES, 0))}",
    }
    kept = [other for other in aws.exports if other.by != one.slot or other.id == asked.get(state)]
    if len(kept) == len(aws.exports):
        return aws
    mine = aws._replace(exports=tuple(other for other in aws.exports if other not in kept))
    return aws._replace(exports=(*kept, *release(mine, one.slot).exports))


# ---- the number of exports is not counted


def uncounted(one: Teardown, aws: AwsState) -> tuple[Teardown, AwsState]:
    """As if it had not exported before; it does not read earlier exports any more."""
    variables = one.frame.variables
    proofs = variables.get(TRIES, 0)
    if proofs in (0, BEYOND_EVERY_LIMIT):
        return one, aws
    mine = _token(one.slot, proofs), _token(one.slot, 0)
    exports = without_old_exports(aws, one).exports
    variables = variables | {TRIES: 0}
    if "task_id" in variables:
        variables = variables | {"task_id": variables["task_id"].replace(*mine)}
    aws = aws._replace(exports=tuple(_called(other, other.token.replace(*mine)) for other in exports))
    return one._replace(frame=one.frame._replace(variables=variables)), aws


# ---- symmetry of two teardowns


def renamed(one: Teardown, slot: str) -> Teardown:
    """The same teardown with another name, which changes the token of its export."""
    if one.slot == slot:
        return one
    variables = one.frame.variables
    if "task_id" in variables:
        variables = variables | {"task_id": f"task-{_renamed(variables['task_id'].removeprefix('task-'), slot)}"}
    return one._replace(slot=slot, frame=one.frame._replace(variables=variables))


def swapped(aws: AwsState) -> AwsState:
    """The exports of both teardowns exchanged."""
    other = dict(zip(SLOTS, reversed(SLOTS), strict=True))
    return aws._replace(exports=tuple(sorted(_asked_by(one, other.get(one.by)) for one in aws.exports)))


def _asked_by(one: Export, slot: str | None) -> Export:
    return one if slot is None else _called(one._replace(by=slot), _renamed(one.token, slot))


def _called(one: Export, token: str) -> Export:
    return one if one.token == token else one._replace(token=token, id=f"task-{token}")


@cache
def _renamed(token: str, slot: str) -> str:
    number = next(n for of in SLOTS for n in (0, 1) if _token(of, n) == token)
    return _token(slot, number)


@cache
def _token(slot: str, proofs: int) -> str:
    return hashlib.sha256(f"{teardown_arn(slot)}{proofs}".encode()).hexdigest()[:32]
