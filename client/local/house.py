"""A local cloud with Belay deployed on it by the real CDK command line, and the example's data in its bucket."""

import fcntl
import json
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from client import deployment
from client.deployment import Clients, Deployment
from client.local.telling import doing
from client.reading import Run
from examples.data import digits
from local_cloud.cloud import REPOSITORY, CloudFailed, LocalCloud

JOB_FILE = REPOSITORY / "examples" / "digits.json"
# What AWS makes one wait for passes this many times faster; training takes the time that it takes.
TIME_SCALE = 100.0
_DATASET = "dataset"
_UPLOADS_AT_ONCE = 8


@dataclass(frozen=True)
class House:
    cloud: LocalCloud
    deployment: Deployment
    job: dict[str, Any]

    @property
    def held_out(self) -> Path:
        """The digits that training does not see."""
        return self.cloud.settings.state_dir / _DATASET / "test"

    @property
    def clients(self) -> Clients:
        return self.cloud.client

    def start(self) -> Run:
        """The same call that anyone would make: StartExecution, with the job file as its input."""
        started = self.clients("stepfunctions").start_execution(
            stateMachineArn=self.deployment.train_machine_arn, input=json.dumps(self.job)
        )
        return Run(started["executionArn"], deployment=self.deployment, clients=self.clients)


@contextmanager
def house(console: Console, *, state_dir: Path, port: int | None = None) -> Iterator[House]:
    """Up for as long as the `with` lasts."""
    with alone_in(state_dir):
        cloud = LocalCloud(state_dir=state_dir, port=port or free_port(), time_scale=TIME_SCALE)
        try:
            _deploy(console, cloud)
            deployed = deployment.find(cloud.client)
            job = json.loads(JOB_FILE.read_text())
            prefix = job["dataset"]["s3"]
            with doing(console, f"Upload the handwritten digits to s3://{deployed.bucket}/{prefix}"):
                _upload(cloud.client("s3"), state_dir / _DATASET, bucket=deployed.bucket, prefix=prefix)
            yield House(cloud, deployed, job)
        finally:
            cloud.stop()


@contextmanager
def alone_in(state_dir: Path) -> Iterator[None]:
    """Emptied first, unless another command is at work there: a cloud that is up would lose what it runs on."""
    state_dir.parent.mkdir(parents=True, exist_ok=True)
    with state_dir.with_suffix(".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CloudFailed(
                f"another command works in {state_dir}; end it first, with Ctrl-C where it runs"
            ) from None
        shutil.rmtree(state_dir, ignore_errors=True)
        yield


def _deploy(console: Console, cloud: LocalCloud) -> None:
    with ThreadPoolExecutor(1) as beside:
        # Synthesizing asks no cloud anything: it runs while there is none yet.
        synthesized = beside.submit(cloud.cdk, ["synth", "--quiet"], app_dir=REPOSITORY)
        with doing(console, "Start the local cloud"):
            cloud.start()
        with doing(console, "cdk bootstrap"):
            cloud.bootstrap()
        with doing(console, "cdk synth"):
            synthesized.result()
    with doing(console, "cdk deploy --all"):
        cloud.deploy(cloud.settings.state_dir / "cdk.out" / REPOSITORY.name)


def _upload(s3: Any, folder: Path, *, bucket: str, prefix: str) -> None:
    digits.write(folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    with ThreadPoolExecutor(_UPLOADS_AT_ONCE) as pool:
        sent = [pool.submit(_put, s3, bucket, f"{prefix}{file.relative_to(folder).as_posix()}", file) for file in files]
        for one in sent:
            one.result()


def _put(s3: Any, bucket: str, key: str, file: Path) -> None:
    s3.put_object(Bucket=bucket, Key=key, Body=file.read_bytes())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
