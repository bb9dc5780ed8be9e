"""The promises, as questions to a state of the whole system. Each answers with what is wrong, in words, or None."""

from functools import cache

from contract.certificate import Certificate
from contract.verdict import Durability, Training
from tests.model import s3
from tests.model.net import System
from tests.model.world import World


def at_any_time(world: World) -> str | None:
    """What is certified as deleted is so, or about to be: not even for a while does the certificate say too much."""
    told = certificate_of(world)
    still = [one for one in world.file_systems if one.lifecycle in ("CREATING", "AVAILABLE")]
    if told and told.file_system.fate == "deleted" and still:
        return f"certified as deleted, but {still[0].id} is {still[0].lifecycle}"
    return None


def at_the_end(system: System) -> str | None:
    """Nothing is under way, and nobody will come again: all three promises at once."""
    world = system.world
    assert world.train is not None
    return leaks(world) or lies_of_train(world) or lies_of_certificate(world) or too_dark(world) or uncertified(world)


def certificate_of(world: World) -> Certificate | None:
    body = world.s3.get(s3.PREFIX.certificate)
    return _certificate(body) if body else None


@cache
def _certificate(body: bytes) -> Certificate:
    return Certificate.model_validate_json(body)


def everything_is_in_s3(world: World) -> bool:
    return all(s3.is_whole(world.s3, step) for step in range(1, world.saved + 1))


def leaks(world: World) -> str | None:
    """Promise 2. A file system may stay only if what it holds cannot be had, and someone was told."""
    if any(one.may_write for one in world.trainings):
        return "a training task is left behind"
    for one in world.file_systems:
        if one.lifecycle != "FAILED":
            return f"{one.id} is left behind, {one.lifecycle}"
    return None


def lies_of_train(world: World) -> str | None:
    """Promise 3, for the execution's own end."""
    end = world.train
    assert end is not None
    if end.status == "SUCCEEDED" and not world.finished:
        return "Train succeeded, but training did not complete"
    if end.status == "SUCCEEDED" and not everything_is_in_s3(world):
        return "Train succeeded, but not all checkpoints are in S3"
    return None


def lies_of_ending(system: System) -> str | None:
    """Promise 3, for what a teardown was told, and goes by when it certifies."""
    told = [one.frame.variables.get("ended") for one in system.teardowns]
    completed = any(one and one["outcome"] == Training.COMPLETED for one in told)
    end = system.world.train
    completed = completed or bool(end and end.error and end.error.startswith(f"Training{Training.COMPLETED}."))
    return "training is taken to be completed, but it is not" if completed and not system.world.finished else None


def lies_of_certificate(world: World) -> str | None:
    """Promise 3, for the record: both answers against what really is."""
    told = certificate_of(world)
    if told is None:
        return None
    verdict = told.verdict
    if verdict.durability is Durability.VERIFIED and not everything_is_in_s3(world):
        return "certified as verified, but not all checkpoints are in S3"
    if verdict.durability is Durability.NOTHING_SAVED and world.saved:
        return "certified as nothing saved, but there was a checkpoint"
    if verdict.training is Training.COMPLETED and not world.finished:
        return "certified as completed, but training did not complete"
    if verdict.last_verified_step and not s3.is_whole(world.s3, verdict.last_verified_step):
        return f"step {verdict.last_verified_step} is certified, but not whole in S3"
    return None


def lies_to_come(world: World) -> str | None:
    """Promise 3, for what is said once and never looked at again: nothing may be saved after it."""
    told = certificate_of(world)
    is_safe = told is not None and told.verdict.durability in (Durability.VERIFIED, Durability.NOTHING_SAVED)
    is_said = is_safe or (world.train is not None and world.train.status == "SUCCEEDED")
    for one in world.trainings if is_said else ():
        mount = world.file_system(one.file_system)
        if one.may_write and mount is not None and mount.lifecycle == "AVAILABLE":
            return "all is said to be safe, but training may still save"
    return None


def too_dark(world: World) -> str | None:
    """Promise 3 the other way round: nothing is called lost or kept that is not."""
    told = certificate_of(world)
    if told is None:
        return None
    if told.verdict.durability is Durability.LOST and world.saved and everything_is_in_s3(world):
        return "certified as lost, but all checkpoints are in S3"
    if told.verdict.durability is Durability.KEPT and not world.file_systems:
        return "certified as kept, but the file system is gone"
    return None


def is_on_record(world: World) -> bool:
    """Whether the certificate says what became of the file system. A refused job needs none."""
    told = certificate_of(world)
    if told is None:
        return s3.PREFIX.plan not in world.s3
    return told.file_system.fate != "kept" or bool(world.file_systems)


def uncertified(world: World) -> str | None:
    if s3.PREFIX.plan in world.s3 and certificate_of(world) is None:
        return "no certificate"
    return None
