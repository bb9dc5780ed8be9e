"""A file system that never answers: FUSE, mounted by a process that reads no request."""

import contextlib
import ctypes
import os
from collections.abc import Iterator
from pathlib import Path

_MNT_FORCE, _MNT_DETACH = 1, 2
_LIBC = ctypes.CDLL(None, use_errno=True)


class NoFuse(Exception):
    """This machine lets us mount no FUSE file system."""


@contextlib.contextmanager
def silent_mount() -> "Iterator[SilentMount]":
    mount = SilentMount()
    try:
        yield mount
    finally:
        mount.close()


class SilentMount:
    """Hangs everything that is asked of a folder from `over` on, for all but those who are in it already."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        try:
            self._requests = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            raise NoFuse(str(error)) from error

    def over(self, folder: Path) -> None:
        options = f"fd={self._requests},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()},allow_other"
        if _LIBC.mount(b"silent", bytes(folder), b"fuse", 0, options.encode()) != 0:
            raise NoFuse(f"mount: {os.strerror(ctypes.get_errno())}")
        self._folder = folder

    def close(self) -> None:
        """Whoever waits gets an error."""
        os.close(self._requests)
        if self._folder is not None:
            _LIBC.umount2(bytes(self._folder), _MNT_FORCE | _MNT_DETACH)
