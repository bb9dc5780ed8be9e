"""A training of about a second that `make chaos` starts hundreds of times in place of a Trainer.

It writes real files and the run's events, and commits checkpoints with stallfree's own code; it learns nothing.
"""

import argparse
import os
import re
import resource
import signal
import sys
import time
from types import FrameType

from _belay_hook.lines import EventLines
from _belay_hook.settings import ENVIRONMENT_VARIABLE, HookSettings
from stallfree.checkpoint.store import Store

_BYTES = 200_000


class Training:
    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._settings = settings = HookSettings.from_json(os.environ[ENVIRONMENT_VARIABLE])
        self._lines = EventLines(
            run=settings.run,
            node=settings.node,
            attempt=settings.attempt,
            job=settings.job,
            file=settings.events,
        )
        self._store = Store(checkpoints=settings.checkpoints, staging=settings.staging)
        self._stop = False

    def run(self) -> int:
        self._store.open()
        first = self._resumed()
        signal.signal(signal.SIGTERM, self._ask_to_stop)
        (self._settings.trainers / str(os.getpid())).touch()
        for step in range(first + 1, self._options.steps + 1):
            time.sleep(self._options.step_seconds)
            self._lines.write("step", step=step, total_steps=self._options.steps, loss=1 / step)
            if step == self._options.full_at:
                # From here on the file system takes no more: writes fail as they do on a full disk.
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (_BYTES // 2, _BYTES // 2))
            if step == self._options.crash_at and self._settings.attempt == 1:
                raise RuntimeError("the loss is not a number")
            if step % self._options.every == 0 or self._stop:
                self._save(step)
            if self._stop:
                return 128 + signal.SIGTERM
        return 0

    def _ask_to_stop(self, number: int, frame: FrameType | None) -> None:
        self._stop = not self._options.ignore_sigterm

    def _resumed(self) -> int:
        steps = [
            int(match[1]) for path in self._settings.checkpoints.iterdir() if (match := _STEP.fullmatch(path.name))
        ]
        if not steps:
            return 0
        self._lines.write("resumed", step=max(steps), source=f"run/checkpoints/checkpoint-{max(steps)}")
        return max(steps)

    def _save(self, step: int) -> None:
        began = time.monotonic()
        folder = self._store.stage(step)
        (folder / "model.bin").write_bytes(os.urandom(_BYTES))
        (folder / "trainer_state.json").write_text(f'{{"global_step": {step}}}')
        manifest = self._store.commit(step)
        self._lines.write(
            "saved",
            step=step,
            path=f"run/checkpoints/checkpoint-{step}",
            files=len(manifest.files),
            bytes=manifest.total_bytes,
            stall_seconds=time.monotonic() - began,
            durable_seconds=time.monotonic() - began,
            manifest_crc64nvme=manifest.crc64nvme,
        )


_STEP = re.compile(r"checkpoint-([0-9]+)")


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--every", type=int, default=2)
    parser.add_argument("--step-seconds", type=float, default=0.1)
    parser.add_argument("--crash-at", type=int, help="raise in this step of the first attempt")
    parser.add_argument("--full-at", type=int, help="from this step on the disk is full")
    parser.add_argument("--ignore-sigterm", action="store_true", help="go on after SIGTERM")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(Training(options()).run())
