"""One local cloud with the stacks deployed, for all end-to-end tests."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from belay.cli.main import app
from tests.e2e.documents import Belay
from tools.definitions.templates import Assembly
from tools.local_cloud import environment
from tools.local_cloud.cloud import LocalCloud
from tools.local_runs.deploy import deployed_on, upload_digits
from tools.local_runs.jobs import TIME_SCALE
from tools.local_runs.runs import Deployed
from tools.proofs.permissions import recorded_calls


@pytest.fixture(scope="session")
def uploaded(assembly: Assembly, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    """With the digits and the scripts of this folder in the dataset that jobs name."""
    data = tmp_path_factory.mktemp("digits")
    shutil.copytree(Path(__file__).parent / "scripts", data, dirs_exist_ok=True)
    cloud = LocalCloud(state_dir=tmp_path_factory.mktemp("cloud"), time_scale=TIME_SCALE)
    with deployed_on(cloud, assembly.directory) as deployed:
        upload_digits(deployed, data)
        yield deployed


@pytest.fixture
def deployed(uploaded: Deployed, assembly: Assembly) -> Iterator[Deployed]:
    yield uploaded
    uploaded.cloud.clear_faults()
    refused = recorded_calls.refused_by_the_simulator(uploaded.cloud, assembly)
    assert not refused, "calls that were allowed here, and would not be on AWS:\n" + "\n".join(refused)


@pytest.fixture
def belay(deployed: Deployed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Belay:
    """Only the ordinary AWS configuration points it to the local cloud."""
    for name, value in environment.for_aws(deployed.cloud.settings).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)

    def ask(*words: str) -> tuple[int, str]:
        answer = CliRunner().invoke(app, list(words), input="y\n")
        if answer.exception and not isinstance(answer.exception, SystemExit):
            raise answer.exception
        return answer.exit_code, answer.stdout

    return ask
