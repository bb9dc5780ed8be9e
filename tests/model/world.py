"""The world that the machines act on, as one value: file systems, export tasks, training tasks, S3, the log."""

from typing import NamedTuple

from tests.model.values import EMPTY, Frozen


class FileSystem(NamedTuple):
    """`saved`: the last step that is whole on it; `events`: what the trainer wrote there beside its log."""

    id: str
    token: str
    lifecycle: str
    tags: Frozen
    links: tuple["Link", ...] = ()
    saved: int = 0
    events: tuple[str, ...] = ()


class Link(NamedTuple):
    path: str
    token: str
    lifecycle: str


class Export(NamedTuple):
    """It takes what stood on the file system when it began. `by`: who asked for it and may ask about it."""

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

    @property
    def may_write(self) -> bool:
        return self.status not in ("STOPPED",)


class End(NamedTuple):
    """How an execution ended."""

    status: str
    error: str | None = None
    cause: str | None = None
    output: object = None


class World(NamedTuple):
    """`train` is None while Train runs; `broken` is the first promise that was seen broken, in words."""

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
    told: bool = False
    broken: str | None = None

    def breaks(self, promise: str) -> "World":
        return self if self.broken else self._replace(broken=promise)

    def file_system(self, id: str) -> FileSystem | None:
        return next((one for one in self.file_systems if one.id == id), None)

    def with_file_system(self, new: FileSystem) -> "World":
        return self._replace(file_systems=tuple(new if one.id == new.id else one for one in self.file_systems))

    def with_training(self, new: Training) -> "World":
        return self._replace(trainings=tuple(new if one.arn == new.arn else one for one in self.trainings))

    def with_export(self, new: Export) -> "World":
        return self._replace(exports=tuple(new if one.id == new.id else one for one in self.exports))
