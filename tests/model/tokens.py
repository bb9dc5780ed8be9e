"""What teardowns call their exports: the token follows from who asks, and from how often it has asked before."""

import hashlib
from functools import cache

from tests.model.fsx import let_go
from tests.model.interpreter import ENDLESS, TRIES
from tests.model.net import SLOTS, Teardown, teardown_arn
from tests.model.world import Export, World


def forgotten(world: World, one: Teardown) -> World:
    """Of its exports a teardown asks for the last one, as long as it stands there."""
    told, state = one.frame.variables, one.frame.state
    asked = {"Export: how far?": told.get("task_id"), "Export to S3": f"task-{_token(one.slot, told.get(TRIES, 0))}"}
    kept = [other for other in world.exports if other.by != one.slot or other.id == asked.get(state)]
    if len(kept) == len(world.exports):
        return world
    mine = world._replace(exports=tuple(other for other in world.exports if other not in kept))
    return world._replace(exports=(*kept, *let_go(mine, one.slot).exports))


# ---- how often it has asked before is not counted


def uncounted(one: Teardown, world: World) -> tuple[Teardown, World]:
    """As if it had not asked before: of the exports before the last it does not ask any more."""
    told = one.frame.variables
    proofs = told.get(TRIES, 0)
    if proofs in (0, ENDLESS):
        return one, world
    mine = _token(one.slot, proofs), _token(one.slot, 0)
    exports = forgotten(world, one).exports
    told = told | {TRIES: 0}
    if "task_id" in told:
        told = told | {"task_id": told["task_id"].replace(*mine)}
    world = world._replace(exports=tuple(_called(other, other.token.replace(*mine)) for other in exports))
    return one._replace(frame=one.frame._replace(variables=told)), world


# ---- two teardowns are equals


def moved(one: Teardown, slot: str) -> Teardown:
    """The same teardown under another name: its export's token follows from that."""
    if one.slot == slot:
        return one
    told = one.frame.variables
    if "task_id" in told:
        told = told | {"task_id": f"task-{_renamed(told['task_id'].removeprefix('task-'), slot)}"}
    return one._replace(slot=slot, frame=one.frame._replace(variables=told))


def mirrored(world: World) -> World:
    """The same for each other."""
    other = dict(zip(SLOTS, reversed(SLOTS), strict=True))
    return world._replace(exports=tuple(sorted(_asked_by(one, other.get(one.by)) for one in world.exports)))


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
