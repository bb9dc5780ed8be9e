"""Exporting: what changed on the mount since the last export goes to S3."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from tools.local_cloud.services.fsx import posix
from tools.local_cloud.services.fsx.model import Association, FileSystem
from tools.local_cloud.services.fsx.repository import Repository


class PathMissing(Exception):
    """A path of the task is not on the file system: the whole task fails."""


@dataclass
class Exported:
    """What one task did."""

    total: int = 0
    succeeded: int = 0
    failed: list[str] = field(default_factory=list)


def export(
    file_system: FileSystem,
    paths: Iterable[str],
    links: Sequence[Association],
    repository: Repository,
    *,
    skip: Path | None = None,
) -> Exported:
    """Exports every changed file and folder under the paths. What lies outside all associations is skipped
    and counted as done, as FSx does: a task that succeeded proves nothing."""
    done = Exported()
    for path in changed(file_system, paths):
        name = path.relative_to(file_system.root).as_posix()
        link = next((link for link in links if _inside(name, link.folder)), None)
        done.total += 1
        if link is None or path == skip:
            done.succeeded += 1
            continue
        try:
            # Before the copy: a file that changes under it is exported again next time.
            seen = posix.signature(path)
            _store(path, link, link.key_of(name), repository)
        except (OSError, BotoCoreError, ClientError):
            done.failed.append(name)  # Removed while the task ran, or refused by S3: the report names it.
            continue
        done.succeeded += 1
        file_system.exported[name] = seen
        _note_exported(file_system, path, name)
    return done


def changed(file_system: FileSystem, paths: Iterable[str]) -> Iterator[Path]:
    """Every file and folder under the paths that S3 does not hold as it is now."""
    root = file_system.root.resolve()
    for start in [path.strip("/") for path in paths] or [""]:
        top = file_system.root / start
        # "If a path that you provide isn't valid, the task fails" (botocore's model); [?] that a path with .. is not.
        if ".." in Path(start).parts or not top.exists() or not top.resolve().is_relative_to(root):
            raise PathMissing(start)
        for path in sorted([top, *top.rglob("*")]) if top.is_dir() else [top]:
            name = path.relative_to(file_system.root).as_posix()
            if name != "." and _exists(path) and file_system.exported.get(name) != posix.signature(path):
                yield path


def largest(paths: Iterable[Path]) -> Path | None:
    """The largest file, for an export that must leave one out."""
    return max((path for path in paths if path.is_file()), key=lambda path: path.stat().st_size, default=None)


def _note_exported(file_system: FileSystem, path: Path, name: str) -> None:
    with contextlib.suppress(FileNotFoundError), file_system.marks.open("a") as marks:
        now = path.lstat()
        marks.write(f"{now.st_ino} {now.st_size} {name}\n")


def _exists(path: Path) -> bool:
    return path.is_symlink() or path.exists()


def _store(path: Path, link: Association, key: str, repository: Repository) -> None:
    if path.is_symlink():
        repository.store(link.bucket, key, str(path.readlink()).encode(), posix.metadata(path))
    elif not path.is_dir():
        repository.store(link.bucket, key, path, posix.metadata(path))
    elif key:  # The folder of an association of a whole bucket has no key of its own.
        repository.store(link.bucket, key.rstrip("/") + "/", b"", posix.metadata(path))


def _inside(name: str, folder: str) -> bool:
    return not folder or name == folder or name.startswith(folder + "/")
