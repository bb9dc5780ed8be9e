"""FSx for Lustre, as far as the flows use it: calls and what they change, and how things develop by themselves."""

from collections.abc import Iterator

from contract import tags
from tests.model import s3
from tests.model.standing import Answer, Fault
from tests.model.values import Frozen, freeze
from tests.model.world import Export, FileSystem, Link, World

ENDED = ("SUCCEEDED", "FAILED", "CANCELED")
NOBODY = "nobody"
_NOT_FOUND = Fault("FSx.FileSystemNotFoundException", "File system does not exist")
_BUSY = Fault("FSx.DataRepositoryTaskExecutingException", "a task is executing")
_BAD = Fault("FSx.BadRequestException", "not in this state of the file system")


def create(world: World, asked: Frozen) -> tuple[World, object]:
    token = asked["ClientRequestToken"]
    known = next((one for one in world.file_systems if one.token == token), None)
    if known is None:
        told = Frozen({tag["Key"]: tag["Value"] for tag in asked["Tags"]})
        known = FileSystem(f"fs-{len(world.file_systems) + 1}", token, "CREATING", told)
        world = world._replace(file_systems=(*world.file_systems, known))
    return world, freeze({"FileSystem": {"FileSystemId": known.id}})


def link(world: World, asked: Frozen) -> tuple[World, object]:
    found = world.file_system(asked["FileSystemId"])
    if found is None:
        return world, _NOT_FOUND
    if found.lifecycle != "AVAILABLE":
        return world, _BAD
    token = asked["ClientRequestToken"]
    if all(one.token != token for one in found.links):
        made = Link(asked["FileSystemPath"], token, "CREATING")
        world = world.with_file_system(found._replace(links=(*found.links, made)))
    return world, freeze({"Association": {"AssociationId": f"dra-{token}"}})


def export(world: World, asked: Frozen, by: str) -> tuple[World, object]:
    found = world.file_system(asked["FileSystemId"])
    if found is None:
        return world, _NOT_FOUND
    token = asked["ClientRequestToken"]
    known = next((one for one in world.exports if one.token == token), None)
    if known is None:
        if any(one.lifecycle not in ENDED for one in world.exports if one.file_system == found.id):
            return world, _BUSY
        if found.lifecycle != "AVAILABLE":
            return world, _BAD
        checkpoints = found.saved if "run/checkpoints" in asked["Paths"] else 0
        events = found.events if "run/events" in asked["Paths"] else ()
        known = Export(f"task-{token}", token, by, found.id, "EXECUTING", checkpoints, events)
        world = world._replace(exports=(*world.exports, known))
    return world, freeze({"DataRepositoryTask": {"TaskId": known.id}})


def delete(world: World, asked: Frozen) -> tuple[World, object]:
    found = world.file_system(asked["FileSystemId"])
    if found is None:
        return world, _NOT_FOUND
    if any(one.lifecycle not in ENDED for one in world.exports if one.file_system == found.id):
        return world, _BAD
    if found.lifecycle == "DELETING":
        return world, freeze({"FileSystemId": found.id, "Lifecycle": "DELETING"})
    for step in range(1, found.saved + 1):
        if not s3.is_whole(world.s3, step):
            world = world.breaks(f"{found.id} is deleted, and checkpoint-{step} on it is not whole in S3")
    if any(one.may_write for one in world.trainings if one.file_system == found.id):
        world = world.breaks(f"{found.id} is deleted while training may still write on it")
    world = world.with_file_system(found._replace(lifecycle="DELETING"))
    return world, freeze({"FileSystemId": found.id, "Lifecycle": "DELETING"})


def tag(world: World, id: str, words: dict[str, str]) -> World:
    found = world.file_system(id)
    if found is None:
        raise LookupError(id)
    # Why and since when are for people, and for how long the sweep waits: here, as long as it takes.
    told = {key: "-" if value and key in (tags.KEPT_WHY, tags.KEPT_SINCE) else value for key, value in words.items()}
    return world.with_file_system(found._replace(tags=found.tags | told))


# ---- what happens by itself


def develop_file_system(world: World, id: str) -> Iterator[Answer]:
    found = world.file_system(id)
    if found is None:
        return
    match found.lifecycle:
        case "CREATING":
            yield Answer(f"{id} is available", 0, _now(world, found, "AVAILABLE"), None)
            yield Answer(f"{id} cannot be created", 1, _now(world, found, "FAILED"), None)
            yield Answer(f"{id} is still being created", 1, world, None)
        case "AVAILABLE":
            yield Answer("", 0, world, None)
            yield Answer(f"{id} loses its server", 1, _now(world, found, "FAILED"), None)
        case "DELETING":
            yield Answer(f"{id} is gone", 0, _forget(world, found), None)
            yield Answer(f"{id} is still being deleted", 1, world, None)
            yield Answer(f"{id} cannot be deleted", 1, _now(world, found, "FAILED"), None)


def develop_links(world: World, id: str) -> Iterator[Answer]:
    found = world.file_system(id)
    if found is None or all(one.lifecycle != "CREATING" for one in found.links):
        return
    for label, cost, word in (("linked", 0, "AVAILABLE"), ("link misconfigured", 1, "MISCONFIGURED")):
        links = tuple(one._replace(lifecycle=word) if one.lifecycle == "CREATING" else one for one in found.links)
        yield Answer(f"{id}: {label}", cost, world.with_file_system(found._replace(links=links)), None)
    yield Answer(f"{id}: still being linked", 1, world, None)


def develop_export(world: World, id: str) -> Iterator[Answer]:
    found = next((one for one in world.exports if one.id == id and one.lifecycle not in ENDED), None)
    if found is None:
        return
    source = world.file_system(found.file_system)
    if source is None or source.lifecycle == "FAILED":
        yield Answer("the export fails: its file system is lost", 0, _ended(world, found, "FAILED"), None)
        return
    whole = s3.carried(world.s3, found.saved, found.events)
    part = s3.carried(world.s3, found.saved, found.events, without_manifest_of=found.saved)
    yield Answer("all is exported", 0, _ended(world, found, "SUCCEEDED")._replace(s3=whole), None)
    yield Answer("the export fails", 1, _ended(world, found, "FAILED"), None)
    yield Answer("the export fails half-way", 1, _ended(world, found, "FAILED")._replace(s3=part), None)
    yield Answer("the export fails, having done all", 1, _ended(world, found, "FAILED")._replace(s3=whole), None)
    yield Answer("the export succeeds, but not whole", 1, _ended(world, found, "SUCCEEDED")._replace(s3=part), None)
    yield Answer("still exporting", 1, world, None)


def _now(world: World, found: FileSystem, lifecycle: str) -> World:
    return world.with_file_system(found._replace(lifecycle=lifecycle))


def let_go(world: World, by: str) -> World:
    """Its asker is gone: a finished one nobody will ask about, and one under way only stands in the way."""
    kept = (one for one in world.exports if one.by != by or one.lifecycle not in ENDED)
    renamed = (one._replace(id="earlier", token="earlier", by=NOBODY) if one.by == by else one for one in kept)
    return world._replace(exports=tuple(renamed))


def _ended(world: World, found: Export, lifecycle: str) -> World:
    if found.by == NOBODY:
        return world._replace(exports=tuple(one for one in world.exports if one is not found))
    return world.with_export(found._replace(lifecycle=lifecycle))


def _forget(world: World, found: FileSystem) -> World:
    return world._replace(
        file_systems=tuple(one for one in world.file_systems if one.id != found.id),
        exports=tuple(one for one in world.exports if one.file_system != found.id),
    )
