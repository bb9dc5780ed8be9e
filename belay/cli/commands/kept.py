"""File systems that cost money after their run: those that were kept, and those to tear down."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from belay.cli import output
from belay.cli.connection import Cloud, connect
from belay.cli.outcome import Exit
from belay.contract import kept as kept_file_systems
from belay.contract import tags
from belay.contract.paths import RunPrefix
from belay.contract.plan import RunPlan


def kept(*, deployment_name: str, as_json: bool) -> Exit:
    cloud = connect(deployment_name)
    each = (kept_file_systems.kept(one["FileSystemId"], _tags(one)) for one in _own(cloud))
    found = kept_file_systems.longest_first(one for one in each if one)
    if as_json:
        output.print_json([vars(one) for one in found])
    elif found:
        columns = ("file system", "run", "why", "kept", "USD a day", "USD so far")
        rows = [
            (one.file_system_id, one.run, one.why, one.since and output.ago(one.since), one.usd_a_day, _so_far(one))
            for one in found
        ]
        output.console().print(output.table("", columns, rows, left=("file system", "run", "why", "kept")))
        output.line("Next: fix the cause, then belay sweep; docs/operations.md says how")
    else:
        output.console().print("No file system was kept.")
    return Exit.FINDINGS if found else Exit.OK


def _so_far(one: kept_file_systems.Kept) -> str | None:
    if one.usd_a_day is None or one.since is None:
        return None
    return f"{(datetime.now(UTC) - one.since) / timedelta(days=1) * one.usd_a_day:,.2f}"


def sweep(*, dry_run: bool, deployment_name: str, as_json: bool) -> Exit:
    """File systems whose execution has ended. A teardown is safe at any time, and may be repeated."""
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
        output.print_json(found)
        return Exit.FINDINGS if orphans else Exit.OK
    out = output.console()
    rows = [(one["file_system"], one["run"], one["state"], one["status"]) for one in found]
    columns = ("file system", "run", "state", "its execution")
    if not rows:
        out.print("No file system is there: nothing to tear down.")
        return Exit.OK
    out.print(output.table("", columns, rows, left=columns))
    would = "would be torn down" if dry_run else "are being torn down"
    count = "1 file system" if len(found) == 1 else f"{len(found)} file systems"
    out.print(f"{count}, {len(orphans)} of them {would}: exported, proven, deleted")
    return Exit.FINDINGS if orphans else Exit.OK


def _orphan(cloud: Cloud, one: dict[str, Any]) -> dict[str, Any]:
    labels = _tags(one)
    status, arn = "unknown: its run.json is gone", None
    prefix = RunPrefix(labels.get(tags.JOB, ""), labels.get(tags.RUN, ""))
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
        "run": labels.get(tags.RUN),
        "state": labels.get(tags.STATE),
        "status": status,
        "execution_arn": arn,
        "ended": arn is not None and status != "RUNNING",
        "looked_at": datetime.now(UTC),
    }


def _own(cloud: Cloud) -> list[dict[str, Any]]:
    return [one for one in cloud.file_systems() if _tags(one).get(tags.DEPLOYMENT) == cloud.deployment.name]


def _tags(one: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in one.get("Tags", [])}
