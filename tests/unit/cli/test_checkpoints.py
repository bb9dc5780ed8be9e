"""What is said of checkpoints in S3 is what is there now, whatever was proven once."""

import json

import pytest
from typer.testing import CliRunner

from belay.cli.commands import checkpoints
from belay.cli.main import app
from belay.cli.outcome import Exit
from belay.client.checkpoints import NoCheckpoint
from belay.contract.ledger import Ledger
from belay.contract.manifest import Manifest
from tests.unit.cli.fake import Aws
from tests.unit.cli.test_connection import JOB
from tests.unit.client.samples import at, proven


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Aws:
    """One run, of which steps 20 and 40 were proven, and 20 was removed since."""
    aws = Aws()
    monkeypatch.setattr(checkpoints, "connect", lambda _name: aws.cloud)
    run = aws.run(JOB, at=at(0))
    prefix = aws.cloud.run(run).prefix
    entries = [proven(20, seconds=5), proven(40, seconds=9)]
    aws.objects[prefix.ledger] = Ledger(run=run, entries=entries).model_dump_json().encode()
    aws.objects[prefix.manifest(40)] = manifest(40)
    return aws


def manifest(step: int) -> bytes:
    return Manifest(version=1, step=step, committed_at=at(4), files=[]).model_dump_json().encode()


def test_a_checkpoint_that_was_removed_is_not_listed_as_proven(aws: Aws, capsys: pytest.CaptureFixture[str]) -> None:
    assert checkpoints.ls("digits", deployment_name="belay", as_json=True) is Exit.OK
    assert [(one["step"], one["in_s3"]) for one in json.loads(capsys.readouterr().out)] == [(20, False), (40, True)]
    checkpoints.ls("digits", deployment_name="belay", as_json=False)
    _, first, second = capsys.readouterr().out.splitlines()
    assert "was proven, and is not there any more" in first and "proven (crc64nvme)" in second


def test_a_step_that_is_not_there_is_not_a_damaged_one(aws: Aws) -> None:
    with pytest.raises(NoCheckpoint):
        checkpoints.verify("digits", step=20, deployment_name="belay", as_json=False)


@pytest.mark.parametrize("answer", ["n\n", ""])
def test_a_no_and_nobody_there_to_answer_both_remove_nothing(aws: Aws, answer: str) -> None:
    aws.objects[aws.cloud.run("digits").prefix.manifest(20)] = manifest(20)
    asked = CliRunner().invoke(app, ["checkpoints", "rm", "digits", "--step", "20"], input=answer)
    assert asked.exit_code == Exit.INTERRUPTED
    assert "Nothing was removed." in asked.output
