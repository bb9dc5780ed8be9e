"""A training in a process of its own, begun or resumed, and the lines that it reports."""

import gc
import os
import signal
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from small_training import in_a_process, trainer
from stallfree.callback import Stallfree
from stallfree.events import Event, PassedOver, Saved
from stallfree.saving.saver import MakeSaver
from transformers import TrainerCallback

Report = Callable[..., None]


@dataclass(frozen=True)
class Way:
    """A way of saving, every step, of which three are kept."""

    name: str
    make_saver: MakeSaver | None = None
    """None: the Trainer's own, resumed as the scripts of transformers do."""
    cripple: Callable[[], None] = field(default=lambda: None)
    """Called in the process first, to disable something and see that a fault is then noticed."""

    def train(self, out: Path, report: Report, steps: int) -> None:
        self.cripple()
        reporting = Reporting(report, saves=self.make_saver is None)
        settings = {"max_steps": steps, "save_steps": 1, "save_total_limit": 3, "lr_scheduler_type": "constant"}
        if self.make_saver is None:
            resume = any(out.glob("checkpoint-*"))
            trainer(out, reporting, **settings).train(resume_from_checkpoint=resume)
        else:
            sink = partial(_forward, report)
            saves = Stallfree(make_saver=self.make_saver, always_resume=True, sink=sink)
            trainer(out, reporting, saves, **settings).train()


class Reporting(TrainerCallback):
    """Where training is, and the fingerprint of all that it has learned by then."""

    reads_checkpoints = False

    def __init__(self, report: Report, *, saves: bool = False) -> None:
        self._report = report
        self._saves = saves

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        self._report("began", state.global_step, fingerprint(objects))

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        self._report("at", state.global_step, fingerprint(objects))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._saves:
            self._report("saved", state.global_step)


def _forward(report: Report, event: Event) -> None:
    if isinstance(event, Saved):
        report("saved", event.step)
    elif isinstance(event, PassedOver):
        report("rejected", Path(event.path).name)


def fingerprint(objects: dict[str, Any]) -> int:
    value = 0
    moments = [tensor for state in objects["optimizer"].state_dict()["state"].values() for tensor in state.values()]
    for tensor in [*objects["model"].state_dict().values(), *moments]:
        value = zlib.crc32(tensor.detach().numpy().tobytes(), value)
    return value


def reference(out: Path, steps: int) -> dict[int, int]:
    """The fingerprint after each step of an uninterrupted training.

    Lives forked after it begin quickly: what training and saving set up once is there, and is not garbage to look for.
    """
    path: dict[int, int] = {}
    reporting = Reporting(lambda _, step, mark: path.__setitem__(step, mark))
    trainer(out, reporting, max_steps=steps, save_steps=steps, lr_scheduler_type="constant").train()
    gc.collect()
    gc.freeze()
    return path


@dataclass(frozen=True)
class Line:
    what: str
    step: int
    mark: int


class TrainingProcess:
    """Starts and ends the training's process, and reads what it reports.

    halt_at_save: it stops itself (SIGSTOP) as soon as it has reported this many saves.
    """

    def __init__(self, way: Way, out: Path, steps: int, *, halt_at_save: int | None = None) -> None:
        self._read_end, write_end = os.pipe()
        self.work = in_a_process(lambda: way.train(out, _reporting(write_end, halt_at_save), steps))
        self._write_end = write_end
        self._output = b""
        self.process = 0

    def begin(self) -> None:
        self.process = os.fork()
        if self.process == 0:
            self.work()
        self.has_begun()

    def has_begun(self) -> None:
        """From here on only the process itself can write to the pipe."""
        os.close(self._write_end)

    def wait_for(self, what: str) -> bool:
        """Return when the process reports it; False: it ended before."""
        while f"\n{what} ".encode() not in b"\n" + self._output:
            events = os.read(self._read_end, 4096)
            if not events:
                return False
            self._output += events
        return True

    def wait_until_it_halts(self) -> bool:
        """False: it ended before."""
        ended = os.waitid(os.P_PID, self.process, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return ended is not None and ended.si_code == os.CLD_STOPPED

    def kill(self) -> None:
        os.kill(self.process, signal.SIGKILL)

    def end(self) -> int:
        """Its exit code, or minus the signal that ended it."""
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    def lines(self) -> Iterator[Line]:
        """All that it reported; after it has ended."""
        while events := os.read(self._read_end, 65536):
            self._output += events
        os.close(self._read_end)
        for line in self._output.decode().splitlines():
            what, step, mark = line.split()
            yield Line(what, int(step) if step.isdigit() else 0, int(mark))


def _reporting(write_end: int, halt_at_save: int | None) -> Report:
    saves = 0

    def report(what: str, step: Any, mark: int = 0) -> None:
        nonlocal saves
        os.write(write_end, f"{what} {step} {mark}\n".encode())
        saves += what == "saved"
        if saves == halt_at_save:
            os.kill(os.getpid(), signal.SIGSTOP)

    return report
