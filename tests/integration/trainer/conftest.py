"""The trainer task as the container starts it, from an image that the local cloud's docker has built.

The programs that need a real machine are the local cloud's too.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from belay.contract.events import AnyEvent, parse_event
from belay.contract.faults import parse_job
from belay.contract.plan import ResumeFrom, RunPlan
from containers.trainer.supervision.processes import descendants, send
from tools.local_cloud.services.ecs.images import Image, load
from tools.local_cloud.settings import HOST_PROGRAMS
from tools.repository import REPOSITORY

RUN = "20261121t024455z-3f9a2c1b"


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    images = tmp_path_factory.mktemp("images")
    subprocess.run(
        [HOST_PROGRAMS / "docker", "build", "--file", "containers/trainer/Dockerfile", "--tag", "trainer", REPOSITORY],
        env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "BELAY_LOCAL_IMAGES": str(images)},
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return load(images, "trainer")


@dataclass
class Task:
    """One attempt of a run."""

    process: subprocess.Popen[str]
    events_file: Path
    output: str = ""

    def wait(self) -> int:
        self.output, _ = self.process.communicate(timeout=300)
        return self.process.returncode

    def until(self, kind: str, **fields: Any) -> AnyEvent:
        """The first event of this kind, which may take a while."""
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline:
            for event in self.events:
                if event.kind == kind and all(getattr(event, name) == value for name, value in fields.items()):
                    return event
            assert self.process.poll() is None, f"ended without {kind}: {self.wait()}\n{self.output}"
            time.sleep(0.05)
        raise AssertionError(f"no {kind} within the time\n{self._where_it_stands()}")

    def _where_it_stands(self) -> str:
        """What it printed, and the stacks of all its processes, which end by that."""
        send(signal.SIGABRT, [*descendants(self.process.pid), self.process.pid])
        self.wait()
        return self.output

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    @property
    def events(self) -> list[AnyEvent]:
        lines = self.events_file.read_text().splitlines() if self.events_file.exists() else []
        return [parse_event.validate_json(line) for line in lines]

    @property
    def printed(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.output.splitlines() if line.startswith('{"at"')]

    def kinds(self, *wanted: str) -> list[str]:
        return [event.kind for event in self.events if not wanted or event.kind in wanted]

    def steps(self, kind: str) -> list[int]:
        return [event.model_dump()["step"] for event in self.events if event.kind == kind]


@dataclass
class Scratch:
    """A scratch file system with one run on it."""

    home: Path
    temporary: Path
    image: Image
    attempts: list[Task] = field(default_factory=list)

    @property
    def files(self) -> Path:
        return self.home / "file-systems" / "fs-0123456789abcdef0-abcdef"

    @property
    def data(self) -> Path:
        return self.files / "data"

    @property
    def checkpoints(self) -> Path:
        return self.files / "run" / "checkpoints"

    def plan(self, train: dict[str, Any], *, resume: ResumeFrom | None = None, **job: Any) -> None:
        settings = {
            "name": "tiny",
            "dataset": {"s3": "datasets/tiny/"},
            "train": train,
            "resources": {"gpus": 0, "cpus": 1},
            "checkpoint": {"every": "5 steps", "keep": 3},
            **job,
        }
        plan = RunPlan(
            run=RUN,
            execution_arn="arn:aws:states:us-east-1:123456789012:execution:belay-train:tiny",
            started_at=datetime.now(UTC),
            bucket="belay",
            prefix=f"jobs/tiny/{RUN}/",
            job=parse_job(settings),
            resume=resume,
        )
        (self.files / "run" / "run.json").write_text(plan.model_dump_json())

    def start(self, **environment: str) -> Task:
        mount_point = self.home / f"fsx-{len(self.attempts) + 1}"
        process = subprocess.Popen(
            self.image.entrypoint,
            cwd=self.image.folder,
            env={
                **os.environ,
                **self.image.variables(),
                "PATH": ":".join([str(HOST_PROGRAMS), *self.image.programs(), os.environ["PATH"]]),
                "TMPDIR": str(self.temporary),
                "BELAY_LOCAL_FILE_SYSTEMS": str(self.home / "file-systems"),
                "BELAY_MOUNT_POINT": str(mount_point),
                "BELAY_RUN": RUN,
                "BELAY_ATTEMPT": str(len(self.attempts) + 1),
                "BELAY_SCRATCH_DNS": "fs-0123456789abcdef0.fsx.us-east-1.amazonaws.com",
                "BELAY_SCRATCH_MOUNT_NAME": "abcdef",
                "HF_HUB_OFFLINE": "1",
                "PYTHONFAULTHANDLER": "1",
                **environment,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        task = Task(process, self.files / "run" / "events" / "trainer.jsonl")
        self.attempts.append(task)
        return task


@contextmanager
def new_scratch(home: Path, image: Image) -> Iterator[Scratch]:
    # The workers of a data loader make sockets there, whose paths may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="b") as temporary:
        made = Scratch(home, Path(temporary), image)
        for folder in (made.files / "run", made.data):
            folder.mkdir(parents=True)
        try:
            yield made
        finally:
            for task in made.attempts:
                if task.process.poll() is None:
                    send(signal.SIGKILL, [*descendants(task.process.pid), task.process.pid])
                    task.process.communicate()


@pytest.fixture
def scratch(tmp_path: Path, image: Image) -> Iterator[Scratch]:
    with new_scratch(tmp_path, image) as made:
        yield made


WriteScript = Callable[..., None]

_SCRIPT = '''
"""A Trainer script as anyone writes it: it knows nothing of where it runs."""
import sys
import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 48
    def __getitem__(self, number):
        tokens = torch.randint(0, 32, (8,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": tokens, "labels": tokens}

class Slowly(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        import time
        time.sleep(PAUSE)

torch.manual_seed(0)
config = GPT2Config(vocab_size=32, n_positions=8, n_embd=16, n_layer=1, n_head=2, bos_token_id=0, eos_token_id=0)
trainer = Trainer(
    model=GPT2LMHeadModel(config),
    args=TrainingArguments("out", num_train_epochs=2, per_device_train_batch_size=4, learning_rate=float(sys.argv[1]),
                           logging_steps=1, dataloader_num_workers=WORKERS, use_cpu=True, disable_tqdm=True),
    train_dataset=Numbers(),
    callbacks=[Slowly()],
)
trainer.train()
print("the script went on to its end at step", trainer.state.global_step)
'''


@pytest.fixture
def write_script(scratch: Scratch) -> WriteScript:
    """24 steps; `pause` seconds after each."""

    def write(*, pause: float = 0, workers: int = 0) -> None:
        (scratch.data / "train.py").write_text(script(pause=pause, workers=workers))

    return write


def script(*, pause: float = 0, workers: int = 0) -> str:
    return _SCRIPT.replace("PAUSE", str(pause)).replace("WORKERS", str(workers))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, image: Image) -> Iterator[Scratch]:
    """A run that nothing went wrong in; only to be looked at."""
    with new_scratch(tmp_path_factory.mktemp("finished"), image) as made:
        (made.data / "train.py").write_text(script())
        made.plan({"command": ["train.py", "1e-2"]})
        task = made.start()
        assert task.wait() == 0, task.output
        yield made
