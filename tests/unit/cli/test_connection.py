"""A run is named in one of three ways, and each names exactly one."""

import json
from pathlib import Path
from typing import Any

import pytest

from belay.cli.outcome import Exit, Refused
from belay.contract.faults import parse_job
from tests.unit.cli.fake import Aws
from tests.unit.client.samples import at

JOB: dict[str, Any] = json.loads((Path(__file__).parents[3] / "examples" / "digits.json").read_text())


@pytest.fixture
def aws() -> Aws:
    aws = Aws()
    for seconds in (0, 100, 200):
        aws.run(JOB, at=at(seconds))
    aws.run({**JOB, "name": "digits-2"}, at=at(300))
    return aws


def arn(aws: Aws, index: int) -> str:
    return str(aws.runs[index]["executionArn"])


def test_a_jobs_name_is_its_newest_run(aws: Aws) -> None:
    assert aws.cloud.run("digits").execution_arn == arn(aws, 2)


def test_an_id_is_that_run_and_an_arn_is_itself(aws: Aws) -> None:
    run = aws.cloud.run(arn(aws, 1))
    assert aws.cloud.run(run.prefix.run).execution_arn == arn(aws, 1)


def test_a_run_that_step_functions_has_forgotten_is_found_in_s3(aws: Aws) -> None:
    run = aws.cloud.run(arn(aws, 0)).prefix.run
    aws.forgotten.add(arn(aws, 0))
    assert aws.cloud.run(run).execution_arn == arn(aws, 0)


def test_what_is_forgotten_can_still_be_read_and_its_job_started_again(aws: Aws) -> None:
    prefix = aws.cloud.run(arn(aws, 2)).prefix
    aws.forgotten.add(arn(aws, 2))
    forgotten = aws.cloud.run("digits")

    assert forgotten.snapshot().status == "FORGOTTEN" and forgotten.snapshot().is_over
    assert (forgotten.prefix, forgotten.started_at) == (prefix, at(200))
    assert parse_job(json.loads(forgotten.describe()["input"])) == parse_job(JOB)


@pytest.mark.parametrize("name", ["nobody", "20261121t024455z-00000000"])
def test_what_is_not_there_is_said_to_be_not_there(aws: Aws, name: str) -> None:
    with pytest.raises(Refused, match="belay ps") as refused:
        aws.cloud.run(name)
    assert refused.value.exit is Exit.NOT_FOUND
