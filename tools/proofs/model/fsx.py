"""FSx for Lustre as far as the flows use it: what calls change, and what changes by itself."""

from collections.abc import Iterator

from belay.contract import tags
from stacks.flows.aws_errors import FSX_BAD_REQUEST, FSX_FILE_SYSTEM_GONE, FSX_LINK_GONE, FSX_TASK_EXECUTING
from tools.definitions.error_names import error_names
from tools.proofs.model import s3
from tools.proofs.model.aws_state import AwsState, Export, FileSystem, Link
from tools.proofs.model.execution import Answer, Fault
from tools.proofs.model.values import Frozen, freeze

ENDED = ("SUCCEEDED", "FAILED", "CANCELED")
NOBODY = "nobody"
NOT_FOUND = Fault(FSX_FILE_SYSTEM_GONE, "File system does not exist")
# The role may delete what has the deployment's tag, and what is gone has none.
NO_TAGS = Fault(
    error_names("fsx:deleteFileSystem").throttled, "not authorized to perform: fsx:DeleteFileSystem", lasts=True
)
_BUSY = Fault(FSX_TASK_EXECUTING, "a task is executing")
_NO_LINK = Fault(FSX_LINK_GONE, "Data repository association does not exist")
_BAD = Fault(FSX_BAD_REQUEST, "not in this state of the file system")


def create(aws: AwsState, asked: Frozen) -> tuple[AwsState, object]:
    token = asked["ClientRequestToken"]
    known = next((one for one in aws.file_systems if one.token == token), None)
    if known is None:
        given = Frozen({tag["Key"]: tag["Value"] for tag in asked["Tags"]})
        known = FileSystem(f"fs-{len(aws.file_systems) + 1}", token, "CREATING", given)
        aws = aws._replace(file_systems=(*aws.file_systems, known))
    return aws, freeze({"FileSystem": {"FileSystemId": known.id}})


def link(aws: AwsState, asked: Frozen) -> tuple[AwsState, object]:
    found = aws.file_system(asked["FileSystemId"])
    if found is None:
        return aws, NOT_FOUND
    if found.lifecycle != "AVAILABLE":
        return aws, _BAD
    token = asked["ClientRequestToken"]
    made = Link(asked["FileSystemPath"], token, "CREATING")
    if all(one.token != token for one in found.links):
        if any(one.lifecycle != "AVAILABLE" for one in found.links):
            aws = aws.breaks("a link is asked for beside another that is not there yet")
        aws = aws.with_file_system(found._replace(links=(*found.links, made)))
    return aws, freeze({"Association": {"AssociationId": made.id}})


def unlink(aws: AwsState, asked: Frozen) -> tuple[AwsState, object]:
    found = aws.link(asked["AssociationId"])
    if found is None:
        return aws, _NO_LINK
    owner, link = found
    return _with_link(aws, owner, link._replace(lifecycle="DELETING")), freeze({"Lifecycle": "DELETING"})


def export(aws: AwsState, asked: Frozen, by: str) -> tuple[AwsState, object]:
    found = aws.file_system(asked["FileSystemId"])
    if found is None:
        return aws, NOT_FOUND
    token = asked["ClientRequestToken"]
    known = next((one for one in aws.exports if one.token == token), None)
    if known is None:
        if any(one.lifecycle not in ENDED for one in aws.exports if one.file_system == found.id):
            return aws, _BUSY
        if found.lifecycle != "AVAILABLE":
            return aws, _BAD
        checkpoints = found.saved if "run/checkpoints" in asked["Paths"] else 0
        events = found.events if "run/events" in asked["Paths"] else ()
        known = Export(f"task-{token}", token, by, found.id, "EXECUTING", checkpoints, events)
        aws = aws._replace(exports=(*aws.exports, known))
    return aws, freeze({"DataRepositoryTask": {"TaskId": known.id}})


def delete(aws: AwsState, asked: Frozen) -> tuple[AwsState, object]:
    found = aws.file_system(asked["FileSystemId"])
    if found is None:
        return aws, NO_TAGS
    if any(one.lifecycle not in ENDED for one in aws.exports if one.file_system == found.id):
        return aws, _BAD
    if found.lifecycle == "DELETING":
        return aws, freeze({"FileSystemId": found.id, "Lifecycle": "DELETING"})
    for step in range(1, found.saved + 1):
        if not s3.is_whole(aws.s3, step):
            aws = aws.breaks(f"{found.id} is deleted, and checkpoint-{step} on it is not whole in S3")
    if any(one.may_write for one in aws.trainings if one.file_system == found.id):
        aws = aws.breaks(f"{found.id} is deleted while training may still write on it")
    aws = aws.with_file_system(found._replace(lifecycle="DELETING"))
    return aws, freeze({"FileSystemId": found.id, "Lifecycle": "DELETING"})


def tag(aws: AwsState, id: str, labels: dict[str, str]) -> AwsState:
    found = aws.file_system(id)
    if found is None:
        raise LookupError(id)
    # The reason and the date are for people, and for the pauses of the sweep, which take no time here.
    given = {key: "-" if value and key in (tags.KEPT_WHY, tags.KEPT_SINCE) else value for key, value in labels.items()}
    return aws.with_file_system(found._replace(tags=found.tags | given))


# ---- what changes by itself


def next_of_file_system(aws: AwsState, id: str) -> Iterator[Answer]:
    found = aws.file_system(id)
    if found is None:
        return
    match found.lifecycle:
        case "CREATING":
            yield Answer(f"{id} is available", 0, _now(aws, found, "AVAILABLE"), None)
            yield Answer(f"{id} cannot be created", 1, _now(aws, found, "FAILED"), None)
            yield Answer(f"{id} is still being created", 1, aws, None)
        case "AVAILABLE":
            yield Answer("", 0, aws, None)
            yield Answer(f"{id} loses its server", 1, _now(aws, found, "FAILED"), None)
        case "DELETING":
            yield Answer(f"{id} is gone", 0, _forget(aws, found), None)
            yield Answer(f"{id} is still being deleted", 1, aws, None)
            yield Answer(f"{id} cannot be deleted", 1, _now(aws, found, "FAILED"), None)


def next_of_links(aws: AwsState, id: str) -> Iterator[Answer]:
    """Of the last one: none is asked for before the others are there."""
    found = aws.file_system(id)
    if found is None or not found.links:
        return
    link = found.links[-1]
    if link.lifecycle == "CREATING":
        yield Answer(f"{id}: linked", 0, _with_link(aws, found, _imported(link, "SUCCEEDED")), None)
        yield Answer(f"{id}: linked, no import is listed yet", 1, _with_link(aws, found, _imported(link, "")), None)
        yield Answer(f"{id}: link failed", 1, _with_link(aws, found, link._replace(lifecycle="FAILED")), None)
        yield Answer(f"{id}: still being linked", 1, aws, None)
    elif link.lifecycle == "DELETING":
        yield Answer(f"{id}: unlinked", 0, aws.with_file_system(found._replace(links=found.links[:-1])), None)
        yield Answer(f"{id}: still being unlinked", 1, aws, None)
    elif link.lifecycle == "AVAILABLE" and not link.imported:
        yield Answer(f"{id}: imported", 0, _with_link(aws, found, _imported(link, "SUCCEEDED")), None)
        yield Answer(f"{id}: the import failed", 1, _with_link(aws, found, _imported(link, "FAILED")), None)
        yield Answer(f"{id}: still no import is listed", 1, aws, None)


def _imported(link: Link, word: str) -> Link:
    return link._replace(lifecycle="AVAILABLE", imported=word)


def _with_link(aws: AwsState, owner: FileSystem, link: Link) -> AwsState:
    links = tuple(link if one.token == link.token else one for one in owner.links)
    return aws.with_file_system(owner._replace(links=links))


def next_of_export(aws: AwsState, id: str) -> Iterator[Answer]:
    found = next((one for one in aws.exports if one.id == id and one.lifecycle not in ENDED), None)
    if found is None:
        return
    source = aws.file_system(found.file_system)
    if source is None or source.lifecycle == "FAILED":
        yield Answer("the export fails: its file system is lost", 0, _ended(aws, found, "FAILED"), None)
        return
    whole = s3.exported(aws.s3, found.saved, found.events)
    part = s3.exported(aws.s3, found.saved, found.events, without_manifest_of=found.saved)
    yield Answer("all is exported", 0, _ended(aws, found, "SUCCEEDED")._replace(s3=whole), None)
    yield Answer("the export fails", 1, _ended(aws, found, "FAILED"), None)
    yield Answer("the export fails half-way", 1, _ended(aws, found, "FAILED")._replace(s3=part), None)
    yield Answer("the export fails, having done all", 1, _ended(aws, found, "FAILED")._replace(s3=whole), None)
    yield Answer("the export succeeds, but not whole", 1, _ended(aws, found, "SUCCEEDED")._replace(s3=part), None)
    yield Answer("still exporting", 1, aws, None)


def _now(aws: AwsState, found: FileSystem, lifecycle: str) -> AwsState:
    return aws.with_file_system(found._replace(lifecycle=lifecycle))


def release(aws: AwsState, by: str) -> AwsState:
    """The execution that asked is over: its ended exports matter no more, one in progress only blocks others."""
    kept = (one for one in aws.exports if one.by != by or one.lifecycle not in ENDED)
    renamed = (one._replace(id="earlier", token="earlier", by=NOBODY) if one.by == by else one for one in kept)
    return aws._replace(exports=tuple(renamed))


def _ended(aws: AwsState, found: Export, lifecycle: str) -> AwsState:
    if found.by == NOBODY:
        return aws._replace(exports=tuple(one for one in aws.exports if one is not found))
    return aws.with_export(found._replace(lifecycle=lifecycle))


def _forget(aws: AwsState, found: FileSystem) -> AwsState:
    return aws._replace(
        file_systems=tuple(one for one in aws.file_systems if one.id != found.id),
        exports=tuple(one for one in aws.exports if one.file_system != found.id),
    )
