"""A bit of a proven checkpoint changes in S3: the daily reading finds it, it is shown, and no run resumes from it."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from belay.cli.main import app
from belay.contract.paths import RunPrefix
from belay.policy.ledgers import document
from belay.policy.rereading import REST
from tools.local_cloud import environment
from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed, Run


def test_rot_is_found_shown_and_not_resumed_from(
    deployed: Deployed, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = deployed.start(digits("rots")).finish()
    assert run.certificate.verdict.last_verified_step == 40, run.story()
    _long_ago(deployed, run)
    _rot(deployed, f"{run.prefix}checkpoints/checkpoint-40/model.safetensors")

    answer = deployed.cloud.client("lambda").invoke(FunctionName="belay-reread", Payload=b"{}")
    found = json.loads(answer["Payload"].read())
    assert found["damaged"] == [f"rots/{run.run}/checkpoint-40"], found
    assert found["checkpoints"] == len(run.verified_steps)
    assert run.ledger.last_verified_step == 30

    for name, value in environment.for_aws(deployed.cloud.settings).items():
        monkeypatch.setenv(name, value)
    for words in (["checkpoints", "ls", run.run], ["status", run.run]):
        shown = " ".join(CliRunner().invoke(app, words).stdout.split())
        assert "is damaged in S3 since" in shown and "has other content than was saved" in shown, shown

    resumed = deployed.start(digits("rots", steps=35)).finish()
    assert resumed.status == "SUCCEEDED", resumed.story()
    plan = json.loads(deployed.object(f"{resumed.prefix}run.json"))
    assert (plan["resume"]["run"], plan["resume"]["step"]) == (run.run, 30)


def _long_ago(deployed: Deployed, run: Run) -> None:
    """As if everything had been proven before the last month."""
    entries = [
        one.model_copy(update={"verified_at": one.verified_at and one.verified_at - REST - timedelta(days=1)})
        for one in run.ledger.entries
    ]
    ledger = run.ledger.model_copy(update={"entries": entries})
    key = RunPrefix(run.job["name"], run.run).ledger
    deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=document(ledger))


def _rot(deployed: Deployed, key: str) -> None:
    """One bit. With another checksum S3 keeps none that the manifest could be compared with."""
    body = bytearray(deployed.object(key))
    body[len(body) // 2] ^= 1
    deployed.s3.put_object(Bucket=deployed.bucket, Key=key, Body=bytes(body), ChecksumAlgorithm="CRC32")
