"""When checkpoints are exported, as this side sees it: FSx marks the files that S3 holds, and Lustre shows the mark."""

import logging
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

logger = logging.getLogger(__name__)

# Training waits for the last look when it ends.
_PATIENCE_SECONDS = 20
_MANIFEST = "checkpoint.manifest.json"
# As in 'x: (0x00000009) exists archived, archive_id:1'. A dirty file was changed since.
_STATE = re.compile(r"(.+): \(0x[0-9a-f]+\)(.*)")


class Unseen(Exception):
    """This file system does not show what is exported."""


def exported(files: Sequence[Path]) -> set[Path]:
    try:
        done = subprocess.run(
            ["lfs", "hsm_state", *map(str, files)], capture_output=True, text=True, timeout=_PATIENCE_SECONDS
        )
    except OSError as error:
        raise Unseen(f"lfs: {error.strerror}") from error
    except subprocess.TimeoutExpired:
        # The file system is busy, as after a lost server: the next look may see it.
        return set()
    states = [match for line in done.stdout.splitlines() if (match := _STATE.fullmatch(line))]
    # A file that was removed meanwhile is a failure as well, and no reason to give up.
    if done.returncode != 0 and not states and all(file.exists() for file in files):
        raise Unseen(done.stderr.strip() or f"lfs hsm_state ended with {done.returncode}")
    words = {Path(match[1]): match[2].replace(",", " ").split() for match in states}
    return {file for file, flags in words.items() if "archived" in flags and "dirty" not in flags}


class Exports:
    """Looks at what was saved until it is exported, in a thread of its own, and reports the newest."""

    def __init__(self, arrived: Callable[[int], None], *, look_every_seconds: float = 5.0) -> None:
        self._arrived = arrived
        self._look_every_seconds = look_every_seconds
        self._lock = threading.Lock()
        self._waiting: dict[int, Path] = {}
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def saved(self, step: int, folder: Path) -> None:
        with self._lock:
            self._waiting[step] = folder / _MANIFEST
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="belay-exports", daemon=True)
            self._thread.start()

    def removed(self, step: int) -> None:
        with self._lock:
            self._waiting.pop(step, None)

    def close(self) -> None:
        self._closed.set()
        if self._thread is not None:
            self._thread.join()

    def _watch(self) -> None:
        while not self._closed.wait(self._look_every_seconds):
            try:
                self._look()
            except Unseen as why:
                logger.warning("When checkpoints reach S3 cannot be seen here, and is guessed: %s", why)
                return

    def _look(self) -> None:
        with self._lock:
            waiting = dict(self._waiting)
        if not waiting:
            return
        found = exported(list(waiting.values()))
        newest = max((step for step, file in waiting.items() if file in found), default=None)
        if newest is None:
            return
        with self._lock:
            self._waiting = {step: file for step, file in self._waiting.items() if step > newest}
        self._arrived(newest)
