"""The state of AWS as one immutable value: file systems, export tasks, training tasks, S3, the log."""

from typing import NamedTuple

from tools.proofs.model.values import EMPTY, Frozen


class FileSystem(NamedTuple):
    """`saved`: the last step that is whole on it; `events`: the lines of the trainer's event file there."""

    id: str
    token: str
    lifecycle: str
    tags: Frozen
    links: tuple["Link", ...] = ()
    saved: int = 0
    events: tuple[str, ...] = ()


class Link(NamedTuple):
    """`imported`: the lifecycle of the import task that comes with it; empty as long as FSx does not list it."""

    path: str
    token: str
    lifecycle: str
    imported: str = ""

    @property
    def id(self) -> str:
        return f"dra-{self.token}"


class Export(NamedTuple):
    """It copies what was on the file system when it began. `by`: the execution that asked for it."""

    id: str
    token: str
    by: str
    file_system: str
    lifecycle: str
    saved: int
    events: tuple[str, ...]


class Training(NamedTuple):
    """One ECS task. `code` and `reason` are its stop code and stopped reason."""

    arn: str
    attempt: int
    file_system: str
    status: str
    code: str = ""
    reason: str = ""
    exit: int | None = None
    node: int = 0
    confirmed: bool = True
    """False: the reply to the call that started it was lost."""

    @property
    def may_write(self) -> bool:
        return self.status not in ("STOPPED",)


class End(NamedTuple):
    """How an execution ended."""

    status: str
    error: str | None = None
    cause: str | None = None
    output: object = None


class AwsState(NamedTuple):
    """`train` is None while Train runs; `notified`: a notice was sent; `broken`: the first broken promise, in words."""

    train: End | None = None
    teardowns: tuple[str, ...] = ()
    starting: tuple[str, Frozen] | None = None
    child: End | None = None
    file_systems: tuple[FileSystem, ...] = ()
    exports: tuple[Export, ...] = ()
    trainings: tuple[Training, ...] = ()
    s3: Frozen = EMPTY
    log: tuple[str, ...] = ()
    saved: int = 0
    finished: bool = False
    notified: bool = False
    broken: str | None = None

    def breaks(self, promise: str) -> "AwsState":
        return self if self.broken else self._replace(broken=promise)

    def file_system(self, id: str) -> FileSystem | None:
        return next((one for one in self.file_systems if one.id == id), None)

    def link(self, id: str) -> tuple[FileSystem, Link] | None:
        return next(((owner, one) for owner in self.file_systems for one in owner.links if one.id == id), None)

    def with_file_system(self, new: FileSystem) -> "AwsState":
        return self._replace(file_systems=tuple(new if one.id == new.id else one for one in self.file_systems))

    def with_training(self, new: Training) -> "AwsState":
        return self._replace(trainings=tuple(new if one.arn == new.arn else one for one in self.trainings))

    def with_export(self, new: Export) -> "AwsState":
        return self._replace(exports=tuple(new if one.id == new.id else one for one in self.exports))
