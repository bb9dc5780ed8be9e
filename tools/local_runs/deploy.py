"""Deploying Belay on a local cloud, and uploading data for its runs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from examples.data import digits
from tools.local_cloud.cloud import LocalCloud
from tools.local_runs.jobs import DATASET
from tools.local_runs.runs import Deployed

_UPLOADS_AT_ONCE = 8


@contextmanager
def deployed_on(cloud: LocalCloud, app: Path) -> Iterator[Deployed]:
    """Starts the cloud, deploys this CDK app or assembly on it, and stops the cloud in the end."""
    with cloud:
        cloud.bootstrap()
        cloud.deploy(app)
        yield Deployed(cloud)


def upload(deployed: Deployed, folder: Path, prefix: str) -> None:
    """Every file of the folder."""

    def put(file: Path) -> None:
        key = f"{prefix}{file.relative_to(folder).as_posix()}"
        deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=file.read_bytes())

    with ThreadPoolExecutor(_UPLOADS_AT_ONCE) as pool:
        list(pool.map(put, (path for path in folder.rglob("*") if path.is_file())))


def upload_digits(deployed: Deployed, folder: Path) -> None:
    """The dataset of `jobs.digits`; few pictures, because every run imports each of them, one by one."""
    digits.write(folder, of_each=8)
    upload(deployed, folder, DATASET)
