"""The manifest of a checkpoint: size and checksum of every other file. A folder that keeps to its own is whole."""

import base64
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from awscrt.checksums import crc64nvme

from stallfree.checkpoint.durable import flush

NAME = "checkpoint.manifest.json"
_BLOCK_BYTES = 8 * 1024 * 1024


class NotWhole(Exception):
    """The folder is not a whole checkpoint; the message says why."""


@dataclass(frozen=True)
class File:
    path: str
    bytes: int
    crc64nvme: str


@dataclass(frozen=True)
class Manifest:
    step: int
    files: tuple[File, ...]
    crc64nvme: str
    """Of the manifest file itself."""

    @property
    def total_bytes(self) -> int:
        return sum(file.bytes for file in self.files)


def write(folder: Path, step: int, described: Sequence[File] = ()) -> Manifest:
    """Describe everything in the folder. To be called when nothing more will be written there.

    What is described already is not read again: its checksum is that of the bytes as they were in memory.
    """
    known = {file.path: file for file in described}
    files = tuple(known.get(name) or describe(folder, name) for name in names_in(folder))
    committed_at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    content = {"version": 1, "step": step, "committed_at": committed_at, "files": [asdict(file) for file in files]}
    path = folder / NAME
    path.write_text(json.dumps(content, indent=1) + "\n")
    flush(path)
    return Manifest(step=step, files=files, crc64nvme=checksum(path))


def read(folder: Path) -> Manifest:
    """The manifest as it stands, not compared with anything yet."""
    path = folder / NAME
    try:
        content = json.loads(path.read_bytes())
        if content["version"] != 1:
            raise NotWhole(f"its manifest has version {content['version']!r}, which is not known here")
        files = tuple(File(str(f["path"]), int(f["bytes"]), str(f["crc64nvme"])) for f in content["files"])
        return Manifest(step=int(content["step"]), files=files, crc64nvme=checksum(path))
    except FileNotFoundError:
        raise NotWhole("it has no manifest") from None
    except OSError as error:
        raise NotWhole(f"its manifest cannot be read: {error}") from error
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise NotWhole(f"its manifest is damaged: {error!r}") from error


def verify(folder: Path) -> Manifest:
    """Compare every byte with the manifest; NotWhole at the first difference."""
    manifest = complete(folder)
    try:
        for file in manifest.files:
            compare(file, checksum(folder / file.path))
    except OSError as error:
        raise NotWhole(f"it cannot be read: {error}") from error
    return manifest


def complete(folder: Path) -> Manifest:
    """The manifest, if every file that it lists is there in its size, and no other. Their bytes are not read."""
    manifest = read(folder)
    if folder.name != f"checkpoint-{manifest.step}":
        raise NotWhole(f"its manifest is that of step {manifest.step}")
    try:
        _compare_names_and_sizes(folder, manifest)
    except OSError as error:
        raise NotWhole(f"it cannot be read: {error}") from error
    return manifest


def compare(file: File, crc64nvme: str) -> None:
    if crc64nvme != file.crc64nvme:
        raise NotWhole(f"{file.path} has other bytes than were saved")


def _compare_names_and_sizes(folder: Path, manifest: Manifest) -> None:
    there, listed = set(names_in(folder)), {file.path for file in manifest.files}
    if missing := sorted(listed - there):
        raise NotWhole(f"{missing[0]} is missing")
    # A file that is not listed may belong to another save, and a loader might prefer it.
    if foreign := sorted(there - listed):
        raise NotWhole(f"{foreign[0]} is not in its manifest")
    for file in manifest.files:
        size = (folder / file.path).stat().st_size
        if size != file.bytes:
            raise NotWhole(f"{file.path} has {size} bytes instead of {file.bytes}")


def checksum(path: Path) -> str:
    value = 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            value = crc64nvme(block, value)
    return as_s3_reports(value)


def as_s3_reports(crc64nvme: int) -> str:
    """Base64 of eight big-endian bytes."""
    return base64.b64encode(crc64nvme.to_bytes(8, "big")).decode()


def describe(folder: Path, name: str) -> File:
    """The line of one file, as it stands on the disk."""
    return File(path=name, bytes=(folder / name).stat().st_size, crc64nvme=checksum(folder / name))


def names_in(folder: Path) -> list[str]:
    """Every file that a manifest of this folder lists, in its order."""
    files = (path for path in folder.rglob("*") if not path.is_dir())
    return sorted(name for file in files if (name := file.relative_to(folder).as_posix()) != NAME)
