"""One life of a training in a process of its own: begun or resumed, told line by line, until it ends or is ended."""

import gc
import os
import signal
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stallfree.callback import Stallfree
from stallfree.events import Event, PassedOver, Saved
from stallfree.saving.saver import MakeSaver
from transformers import TrainerCallback
from under_fire import in_a_process, trainer

Tell = Callable[..., None]


@dataclass(frozen=True)
class Way:
    """A way of saving, every step, of which three are kept."""

    name: str
    make_saver: MakeSaver | None = None
    """None: the Trainer's own, resumed as the scripts of transformers do."""
    cripple: Callable[[], None] = field(default=lambda: None)
    """Done in the life's own process first, to see that a fire finds what is missing then."""

    def train(self, out: Path, tell: Tell, steps: int) -> None:
        self.cripple()
        telling = Telling(tell, saves=self.make_saver is None)
        settings = {"max_steps": steps, "save_steps": 1, "save_total_limit": 3, "lr_scheduler_type": "constant"}
        if self.make_saver is None:
            resume = any(out.glob("checkpoint-*"))
            trainer(out, telling, **settings).train(resume_from_checkpoint=resume)
        else:
            saves = Stallfree(make_saver=self.make_saver, always_resume=True, sink=lambda event: _retell(event, tell))
            trainer(out, telling, saves, **settings).train()


class Telling(TrainerCallback):
    """Where training is, and the fingerprint of all that it has learned by then."""

    reads_checkpoints = False

    def __init__(self, tell: Tell, *, saves: bool = False) -> None:
        self._tell = tell
        self._saves = saves

    def on_train_begin(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        self._tell("began", state.global_step, fingerprint(objects))

    def on_step_end(self, args: Any, state: Any, control: Any, **objects: Any) -> None:
        self._tell("at", state.global_step, fingerprint(objects))

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self._saves:
            self._tell("saved", state.global_step)


def _retell(event: Event, tell: Tell) -> None:
    if isinstance(event, Saved):
        tell("saved", event.step)
    elif isinstance(event, PassedOver):
        tell("passed", Path(event.path).name)


def fingerprint(objects: dict[str, Any]) -> int:
    value = 0
    moments = [tensor for state in objects["optimizer"].state_dict()["state"].values() for tensor in state.values()]
    for tensor in [*objects["model"].state_dict().values(), *moments]:
        value = zlib.crc32(tensor.detach().numpy().tobytes(), value)
    return value


def true_path(out: Path, steps: int) -> dict[int, int]:
    """The fingerprint after each step of a training that nothing befalls.

    Lives forked after it begin quickly: what training and saving set up once is there, and is not garbage to look for.
    """
    path: dict[int, int] = {}
    telling = Telling(lambda _, step, mark: path.__setitem__(step, mark))
    trainer(out, telling, max_steps=steps, save_steps=steps, lr_scheduler_type="constant").train()
    gc.collect()
    gc.freeze()
    return path


@dataclass(frozen=True)
class Told:
    what: str
    step: int
    mark: int


class Life:
    """The other end of a training's process: what it tells, and the power to end it.

    halt_at_save: it stands still, all of it, in the instant in which it has told of so many saves.
    """

    def __init__(self, way: Way, out: Path, steps: int, *, halt_at_save: int | None = None) -> None:
        self._listen, say = os.pipe()
        self.work = in_a_process(lambda: way.train(out, _telling(say, halt_at_save), steps))
        self._mouth = say
        self._heard = b""
        self.process = 0

    def begin(self) -> None:
        self.process = os.fork()
        if self.process == 0:
            self.work()
        self.has_begun()

    def has_begun(self) -> None:
        """From here on only the process itself has the end of the pipe that it tells through."""
        os.close(self._mouth)

    def wait_for(self, what: str) -> bool:
        """Return when the life tells of it; False: it ended before."""
        while f"\n{what} ".encode() not in b"\n" + self._heard:
            heard = os.read(self._listen, 4096)
            if not heard:
                return False
            self._heard += heard
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

    def told(self) -> Iterator[Told]:
        """All that it told. To be asked when it has ended."""
        while heard := os.read(self._listen, 65536):
            self._heard += heard
        os.close(self._listen)
        for line in self._heard.decode().splitlines():
            what, step, mark = line.split()
            yield Told(what, int(step) if step.isdigit() else 0, int(mark))


def _telling(mouth: int, halt_at_save: int | None) -> Tell:
    saves = 0

    def tell(what: str, step: Any, mark: int = 0) -> None:
        nonlocal saves
        os.write(mouth, f"{what} {step} {mark}\n".encode())
        saves += what == "saved"
        if saves == halt_at_save:
            os.kill(os.getpid(), signal.SIGSTOP)

    return tell
