"""What costs money without a run is named, and only that is ever torn down."""

import json
from functools import partial
from typing import Any

import pytest

from belay.cli.commands import kept
from belay.cli.outcome import Exit
from belay.contract import tags
from belay.contract.tags import State
from tests.unit.cli.fake import Aws
from tests.unit.cli.test_connection import JOB
from tests.unit.client.samples import START, at


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    aws = Aws()
    monkeypatch.setattr(kept, "connect", lambda _name: aws.cloud)
    return aws


def said(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    document: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return document


def test_a_kept_file_system_is_a_finding_with_its_reason_and_its_price(
    aws: Aws, capsys: pytest.CaptureFixture[str]
) -> None:
    run = aws.run(JOB, at=at(0))
    why = {tags.KEPT_WHY: "not in S3", tags.KEPT_SINCE: START.isoformat(), tags.KEPT_USD_A_DAY: "5.52"}
    aws.disk("digits", run, State.IN_USE)
    aws.disk("digits", run, State.KEPT, **why)

    assert kept.kept(deployment_name="belay", as_json=True) is Exit.FINDINGS
    [one] = said(capsys)
    assert (one["file_system_id"], one["why"], one["usd_a_day"]) == ("fs-1", "not in S3", 5.52)
    kept.kept(deployment_name="belay", as_json=False)
    assert "5.52" in capsys.readouterr().out


def test_a_dry_sweep_names_orphans_and_starts_nothing(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    aws.disk("digits", aws.run(JOB, at=at(0), status="RUNNING"), State.IN_USE)
    orphan = aws.disk("digits", aws.run(JOB, at=at(1), status="FAILED"), State.IN_USE)

    assert kept.sweep(dry_run=True, deployment_name="belay", as_json=True) is Exit.FINDINGS
    assert [one["file_system"] for one in said(capsys) if one["ended"]] == [orphan]
    assert aws.started == []


def test_a_sweep_tears_down_what_has_no_living_run_and_leaves_the_rest(aws: Aws) -> None:
    aws.disk("digits", aws.run(JOB, at=at(0), status="RUNNING"), State.IN_USE)
    aws.disk("digits", aws.run(JOB, at=at(1), status="FAILED"), State.IN_USE)
    aws.disk("digits", aws.run(JOB, at=at(2)), State.KEPT)
    aws.forgotten.add(aws.runs[2]["executionArn"])
    aws.disk("digits", "20261121t024455z-00000000", State.IN_USE)  # Without its plan nobody knows whose it is.

    kept.sweep(dry_run=False, deployment_name="belay", as_json=False)
    torn_down = [document["execution_arn"] for machine, document in aws.started if machine.endswith(":belay-teardown")]
    assert torn_down == [aws.runs[1]["executionArn"], aws.runs[2]["executionArn"]]


def test_where_there_is_nothing_a_sweep_says_so(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    assert kept.sweep(dry_run=False, deployment_name="belay", as_json=False) is Exit.OK
    assert capsys.readouterr().out == "No file system is there: nothing to tear down.\n"


def test_file_systems_of_others_are_none_of_its_business(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    aws.disk("digits", aws.run(JOB, at=at(0)), State.KEPT, **{tags.DEPLOYMENT: "another"})
    for verb in (kept.kept, partial(kept.sweep, dry_run=True)):
        assert verb(deployment_name="belay", as_json=True) is Exit.OK
        assert said(capsys) == []
