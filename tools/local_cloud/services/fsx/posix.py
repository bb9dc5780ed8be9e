"""POSIX metadata as FSx keeps it on S3 objects, and back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

AGENT = "aws-fsx-lustre"


def signature(path: Path) -> tuple[object, ...]:
    """Differs whenever the content or the metadata of the path changed."""
    seen = path.lstat()
    if path.is_dir() and not path.is_symlink():
        return ("directory", seen.st_mode, seen.st_uid, seen.st_gid)
    return (seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_mode, seen.st_uid, seen.st_gid)


def metadata(path: Path) -> dict[str, str]:
    """The user metadata of the object that the path is exported to."""
    seen = path.lstat()
    return {
        "user-agent": AGENT,
        "file-owner": str(seen.st_uid),
        "file-group": str(seen.st_gid),
        "file-permissions": f"0{seen.st_mode:o}",
        "file-atime": f"{seen.st_atime_ns}ns",
        "file-mtime": f"{seen.st_mtime_ns}ns",
    }


def apply(path: Path, found: Mapping[str, str]) -> None:
    """Gives an imported file the times and mode that its object carries, and the owner where we may."""
    if "file-permissions" in found:
        path.chmod(int(found["file-permissions"], 8) & 0o7777)
    if "file-mtime" in found:
        modified = int(found["file-mtime"].removesuffix("ns"))
        accessed = int(found.get("file-atime", found["file-mtime"]).removesuffix("ns"))
        os.utime(path, ns=(accessed, modified))
    if "file-owner" in found and os.geteuid() == 0:
        os.chown(path, int(found["file-owner"]), int(found.get("file-group", found["file-owner"])))
