"""The example job on a local cloud of its own: Belay deployed by the real CDK command line, its data in the bucket."""

import fcntl
import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from belay.client.reading import Run
from examples.data import digits
from tools.console import doing
from tools.local_cloud.cloud import CloudFailed, LocalCloud
from tools.local_runs.deploy import upload
from tools.local_runs.runs import Deployed
from tools.repository import REPOSITORY

JOB_FILE = REPOSITORY / "examples" / "digits.json"
# What AWS makes one wait for passes this many times faster; training takes the time that it takes.
TIME_SCALE = 100.0
_DATASET = "dataset"


@dataclass(frozen=True)
class Example:
    deployed: Deployed
    job: dict[str, Any]
    test_images: Path
    """Digits that training does not see."""

    def start(self) -> Run:
        """As any client does it: StartExecution, with the job file as its input."""
        arn = self.deployed.start(self.job).arn
        return Run(arn, deployment=self.deployed.deployment, clients=self.deployed.cloud.client)


@contextmanager
def deployed_example(console: Console, *, state_dir: Path, port: int | None = None) -> Iterator[Example]:
    """Until the end of the `with`."""
    with locked(state_dir):
        cloud = LocalCloud(state_dir=state_dir, port=port, time_scale=TIME_SCALE)
        try:
            _deploy(console, cloud)
            deployed, job = Deployed(cloud), json.loads(JOB_FILE.read_text())
            prefix, images = job["dataset"]["s3"], state_dir / _DATASET
            with doing(console, f"Upload the handwritten digits to s3://{deployed.bucket}/{prefix}"):
                digits.write(images)
                upload(deployed, images, prefix)
            yield Example(deployed, job, images / "test")
        finally:
            cloud.stop()


@contextmanager
def locked(state_dir: Path) -> Iterator[None]:
    """The folder, emptied. Refused while another command uses it, whose cloud would lose its files."""
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
        # Synthesizing calls no cloud: it can run while the cloud starts.
        synthesized = beside.submit(cloud.cdk, ["synth", "--quiet"], app_dir=REPOSITORY)
        with doing(console, "Start the local cloud"):
            cloud.start()
        with doing(console, "cdk bootstrap"):
            cloud.bootstrap()
        with doing(console, "cdk synth"):
            synthesized.result()
    with doing(console, "cdk deploy --all"):
        cloud.deploy(cloud.settings.state_dir / "cdk.out" / REPOSITORY.name)
