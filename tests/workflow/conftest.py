"""One local cloud with the stacks deployed, for all end-to-end tests."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.data import digits
from local_cloud.cloud import LocalCloud
from tests.permissions import recorded
from tests.support.templates import Assembly
from tests.workflow.jobs import DATASET
from tests.workflow.runs import Deployed

# Minutes of FSx and ECS in seconds; training itself takes the time it takes.
TIME_SCALE = 200.0


@pytest.fixture(scope="session")
def cloud(assembly: Assembly, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    state = tmp_path_factory.mktemp("cloud")
    with LocalCloud(state_dir=state, port=free_port(), time_scale=TIME_SCALE) as running:
        running.bootstrap()
        running.deploy(assembly.directory)
        yield running


@pytest.fixture(scope="session")
def uploaded(cloud: LocalCloud, tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    deployed = Deployed(cloud)
    folder = tmp_path_factory.mktemp("digits")
    # Few: every run brings each of them in, one by one.
    digits.write(folder, of_each=8)
    for script in (Path(__file__).parent / "scripts").glob("*.py"):
        (folder / script.name).write_text(script.read_text())
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            key = f"{DATASET}{file.relative_to(folder)}"
            deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=file.read_bytes())
    return deployed


@pytest.fixture
def deployed(uploaded: Deployed, assembly: Assembly) -> Iterator[Deployed]:
    yield uploaded
    uploaded.cloud.clear_faults()
    refused = recorded.refused_by_the_simulator(uploaded.cloud, assembly)
    assert not refused, "calls that were allowed here, and would not be on AWS:\n" + "\n".join(refused)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
