"""What costs money and has no run any more."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

import contract.kept
from client.cli import voice
from client.cli.cloud import Cloud, connect
from client.cli.outcome import Exit
from contract import tags
from contract.paths import RunPrefix
from contract.plan import RunPlan


def kept(*, deployment_name: str, as_json: bool) -> Exit:
    cloud = connect(deployment_name)
    told = (contract.kept.kept(one["FileSystemId"], _tags(one)) for one in _own(cloud))
    found = contract.kept.longest_first(one for one in told if one)
    if as_json:
        voice.answer([vars(one) for one in found])
    elif found:
        columns = ("file system", "run", "why", "kept", "USD a day", "USD so far")
        rows = [
            (one.file_system_id, one.run, one.why, one.since and voice.ago(one.since), one.usd_a_day, _so_far(one))
            for one in found
        ]
        voice.console().print(voice.table("", columns, rows, left=("file system", "run", "why", "kept")))
        voice.line("Next: mend the cause, then belay sweep; docs/operations.md says how")
    else:
        voice.console().print("No file system was kept.")
    return Exit.FINDINGS if found else Exit.OK


def _so_far(one: contract.kept.Kept) -> str | None:
    if one.usd_a_day is None or one.since is None:
        return None
    return f"{(datetime.now(UTC) - one.since) / timedelta(days=1) * one.usd_a_day:,.2f}"


def sweep(*, dry_run: bool, deployment_name: str, as_json: bool) -> Exit:
    """File systems whose execution has ended. A teardown is safe at any time, and as often as one likes."""
    cloud = connect(deployment_name)
    found = [_orphan(cloud, one) for one in _own(cloud)]
    orphans = [one for one in found if one["ended"]]
    for one in orphans if not dry_run else ():
        started = cloud.clients("stepfunctions").start_execution(
            stateMachineArn=cloud.deployment.teardown_machine_arn,
            input=json.dumps({"execution_arn": one["execution_arn"]}),
        )
        one["teardown_arn"] = started["executionArn"]
    if as_json:
        voice.answer(found)
        return Exit.FINDINGS if orphans else Exit.OK
    out = voice.console()
    rows = [(one["file_system"], one["run"], one["state"], one["status"]) for one in found]
    columns = ("file system", "run", "state", "its execution")
    if not rows:
        out.print("No file system is there: nothing to tear down.")
        return Exit.OK
    out.print(voice.table("", columns, rows, left=columns))
    would = "would be torn down" if dry_run else "are being torn down"
    count = "1 file system" if len(found) == 1 else f"{len(found)} file systems"
    out.print(f"{count}, {len(orphans)} of them {would}: exported, proven, deleted")
    return Exit.FINDINGS if orphans else Exit.OK


def _orphan(cloud: Cloud, one: dict[str, Any]) -> dict[str, Any]:
    told = _tags(one)
    status, arn = "unknown: its run.json is gone", None
    prefix = RunPrefix(told.get(tags.JOB, ""), told.get(tags.RUN, ""))
    try:
        body = cloud.clients("s3").get_object(Bucket=cloud.deployment.bucket, Key=prefix.plan)["Body"].read()
        arn = RunPlan.model_validate_json(body).execution_arn
        status = cloud.clients("stepfunctions").describe_execution(executionArn=arn)["status"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ExecutionDoesNotExist":
            status = "ended long ago"
        elif error.response["Error"]["Code"] != "NoSuchKey":
            raise
    return {
        "file_system": one["FileSystemId"],
        "run": told.get(tags.RUN),
        "state": told.get(tags.STATE),
        "status": status,
        "execution_arn": arn,
        "ended": arn is not None and status != "RUNNING",
        "looked_at": datetime.now(UTC),
    }


def _own(cloud: Cloud) -> list[dict[str, Any]]:
    return [one for one in cloud.file_systems() if _tags(one).get(tags.DEPLOYMENT) == cloud.deployment.name]


def _tags(one: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])}
