"""A disk whose power can be cut: ext4 on a loop device, shut down without writing what it has only in memory.

What the device itself was given is kept, so a drive that loses its own cache is not part of this; a file system that
was told to flush must have written it all.
"""

import contextlib
import errno
import fcntl
import os
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

_SHUTDOWN, _WITHOUT_THE_JOURNAL = 0x8004587D, 2
_BYTES = 64 * 1024 * 1024


class NoLoopDisk(Exception):
    """This machine lets us mount no file system of our own."""


class LoopDisk:
    def __init__(self, home: Path) -> None:
        self._image, self.folder = home / "image", home / "mounted"
        self.folder.mkdir()
        with self._image.open("wb") as image:
            image.truncate(_BYTES)
        _run("mkfs.ext4", "-q", "-F", str(self._image))
        self.mount()

    def mount(self) -> None:
        _run("mount", "-o", "loop", str(self._image), str(self.folder))

    def unmount(self) -> None:
        _run("umount", str(self.folder))

    def cut_power(self) -> None:
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.ioctl(handle, _SHUTDOWN, struct.pack("I", _WITHOUT_THE_JOURNAL))
        finally:
            os.close(handle)


@contextlib.contextmanager
def loop_disk() -> Iterator[LoopDisk]:
    # In memory, where it can be: its own flushes are then as quick as the file system's.
    within = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    home = Path(tempfile.mkdtemp(prefix="power-", dir=within))
    try:
        try:
            disk = LoopDisk(home)
        except OSError as error:
            raise NoLoopDisk(str(error)) from error
        try:
            yield disk
        finally:
            disk.unmount()
    finally:
        shutil.rmtree(home)


def _run(*command: str) -> None:
    if shutil.which(command[0]) is None:
        raise OSError(errno.ENOENT, f"{command[0]} is not installed")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(errno.EPERM, f"{' '.join(command)}: {done.stderr.strip()}")
