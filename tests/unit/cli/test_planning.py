"""A plan says what would happen; what would be refused it refuses, before anything is started."""

import json
from pathlib import Path
from typing import Any

import pytest

from belay.cli.commands import jobs, runs
from belay.cli.outcome import Exit
from belay.contract.prices import Prices
from tests.unit.cli.fake import Aws
from tests.unit.cli.test_connection import JOB


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    aws = Aws()
    monkeypatch.setattr("belay.cli.connection.connect", lambda _name: aws.cloud)
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
    aws.prices = Prices(**prices)
    file = file_of(tmp_path, **part)
    exit, said = planned(file, capsys)
    assert exit is Exit.JOB_REFUSED
    assert [key in file.read_text().splitlines()[fault["line"] - 1] for fault in said["faults"]] == [True]


def test_what_does_not_fit_is_refused_where_it_stands(
    aws: Aws, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, resources={"gpus": 2, "cpus": 1, "memory": "4GiB"}, limits={"budget_usd": 0.01})
    exit, said = planned(file, capsys)
    assert exit is Exit.JOB_REFUSED
    lines = [file.read_text().splitlines()[fault["line"] - 1] for fault in said["faults"]]
    assert ['"gpus"' in lines[0], '"budget_usd"' in lines[1]] == [True, True]


def test_a_quota_without_room_is_a_fault_of_the_plan(
    aws: Aws, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.vcpus = 0
    exit, said = planned(file_of(tmp_path), capsys)
    assert exit is Exit.JOB_REFUSED and "L-DB2E81BA" in said["faults"][0]["message"]


def test_what_cannot_be_asked_is_said_and_the_plan_shown(
    aws: Aws, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert planned(file_of(tmp_path), capsys)[1]["not_checked"] == []
    aws.vcpus = None
    exit, plan = planned(file_of(tmp_path), capsys)
    assert exit is Exit.OK and "AccessDeniedException" in plan["not_checked"][0]
    jobs.plan(file_of(tmp_path), parameters=None, deployment_name="belay", as_json=False)
    assert "not checked" in capsys.readouterr().out


def test_a_job_with_faults_is_one_document_whatever_the_verb(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = file_of(tmp_path, resume="never mind")
    assert jobs.validate(file, as_json=True) is Exit.JOB_REFUSED
    refused_document = json.loads(capsys.readouterr().out)
    assert planned(file, capsys) == (Exit.JOB_REFUSED, refused_document)
    assert runs.submit(file, follow=False, deployment_name="belay", as_json=True) is Exit.JOB_REFUSED
    assert json.loads(capsys.readouterr().out) == refused_document
