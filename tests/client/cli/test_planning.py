"""A plan says what would happen; what would be refused it refuses, before anything is started."""

import json
from pathlib import Path
from typing import Any

import pytest

from client.cli import jobs, runs
from client.cli.outcome import Exit
from tests.client.cli.fake import Aws
from tests.client.cli.test_finding import JOB


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    aws = Aws()
    monkeypatch.setattr("client.cli.cloud.connect", lambda _name: aws.cloud)
    return aws


def file_of(folder: Path, **parts: Any) -> Path:
    file = folder / "job.json"
    file.write_text(json.dumps({**JOB, **parts}, indent=2))
    return file


def planned(file: Path, capsys: pytest.CaptureFixture[str]) -> tuple[Exit, Any]:
    exit = jobs.plan(file, parameters=None, deployment_name="belay", as_json=True)
    return exit, json.loads(capsys.readouterr().out)


def test_a_plan_is_one_document(aws: Aws, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    exit, plan = planned(file_of(tmp_path, limits={"budget_usd": 7.5}), capsys)
    assert exit is Exit.OK and plan["most_usd"] == 7.5 and plan["instance_usd_per_hour"] == 4.0


@pytest.mark.parametrize(
    ("part", "key", "prices"),
    [
        ({"limits": {"budget_usd": 0.01}}, '"budget_usd"', {"instance_hour": 4.0}),
        ({"limits": {"budget_usd": 25}}, '"budget_usd"', {}),
        ({"checkpoint": {"max_loss": "$0.01"}}, '"max_loss"', {"instance_hour": 4.0}),
    ],
)
def test_what_the_prices_do_not_allow_is_refused_where_it_stands(
    aws: Aws, tmp_path: Path, capsys: pytest.CaptureFixture[str], part: Any, key: str, prices: dict[str, float]
) -> None:
    aws.prices = prices
    file = file_of(tmp_path, **part)
    exit, said = planned(file, capsys)
    assert exit is Exit.JOB_REFUSED
    assert [key in file.read_text().splitlines()[fault["line"] - 1] for fault in said["faults"]] == [True]


def test_a_job_with_faults_is_one_document_whatever_the_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, resume="never mind")
    assert jobs.validate(file, as_json=True) is Exit.JOB_REFUSED
    told = json.loads(capsys.readouterr().out)
    assert planned(file, capsys) == (Exit.JOB_REFUSED, told)
    assert runs.submit(file, follow=False, deployment_name="belay", as_json=True) is Exit.JOB_REFUSED
    assert json.loads(capsys.readouterr().out) == told
