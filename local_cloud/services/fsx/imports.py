"""Importing: what lies under an association's prefix appears on the mount."""

from __future__ import annotations

from local_cloud.services.fsx import posix
from local_cloud.services.fsx.model import Association, FileSystem
from local_cloud.services.fsx.repository import Repository


def import_objects(file_system: FileSystem, link: Association, repository: Repository) -> None:
    """Brings every object in. FSx brings metadata first and content when it is read; here both come at once."""
    folder = file_system.root / link.folder
    for key in repository.keys(link.bucket, link.prefix):
        inside = key[len(link.prefix) :]
        target = folder / inside
        if not inside or not target.resolve().is_relative_to(folder.resolve()):
            continue  # S3 allows keys such as "../x", a file system does not.
        if inside.endswith("/"):
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            posix.apply(target, repository.fetch(link.bucket, key, target))
        # S3 holds it already: the next export has nothing to do with it.
        file_system.exported[target.relative_to(file_system.root).as_posix()] = posix.signature(target)
