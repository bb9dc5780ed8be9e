"""Start a run, watch it, list runs, show where one stands."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from belay.cli import output
from belay.cli.commands.jobs import refused
from belay.cli.connection import Cloud, connect, side_by_side
from belay.cli.outcome import Exit, of_verdict
from belay.client import jobfile
from belay.client.estimate import Estimate, estimate_of
from belay.client.progress import Snapshot, progress_of, saves_sentence
from belay.client.reading import Run
from belay.client.show import Display, certificate_panel, checkpoints_table
from belay.contract.faults import JobRefused
from belay.contract.ledger import Ledger
from belay.contract.plan import RunPlan
from belay.contract.run import run_id
from belay.contract.verdict import Durability

_POLL_SECONDS = 2.0
_LONGEST_DISCONNECTED_SECONDS = 600
_CONNECTION_LOST = {"ThrottlingException", "Throttling", "RequestTimeout", "ServiceUnavailable", "InternalError"}


def submit(file: Path, *, follow: bool, deployment_name: str, as_json: bool) -> Exit:
    read = jobfile.read(file)
    if faults := read.faults():
        return refused(file, faults, as_json=as_json)
    return start(connect(deployment_name), read.raw, follow=follow, as_json=as_json)


def start(cloud: Cloud, job: dict[str, Any], *, follow: bool, as_json: bool) -> Exit:
    started = cloud.clients("stepfunctions").start_execution(
        stateMachineArn=cloud.deployment.train_machine_arn, input=json.dumps(job)
    )
    run = cloud.run(started["executionArn"])
    if as_json:
        output.print_json({"run": run.prefix.run, "job": run.prefix.job, "execution_arn": run.execution_arn})
        return Exit.OK
    out = output.console()
    out.print(f"Run [bold]{run.prefix.run}[/] of {run.prefix.job} has started")
    if follow:
        return _watch(run)
    output.line(f"Next: belay watch {run.prefix.run}")
    return Exit.OK


def watch(name: str, *, deployment_name: str) -> Exit:
    return _watch(connect(deployment_name).run(name))


def _watch(run: Run) -> Exit:
    """Until the run has its certificate, through lost connections; Ctrl-C does not stop the run."""
    out = output.console()
    id = run.prefix.run
    snapshot: Snapshot | None = None
    try:
        with Display(out, started_at=run.started_at) as display:
            for snapshot, plan in snapshots(run):
                rates = plan.rates if plan else None
                display.show(snapshot, estimate_of(snapshot, rates, begin=run.started_at, now=datetime.now(UTC)))
    except KeyboardInterrupt:
        output.line(f"\nThe run goes on. Come back with: belay watch {id}")
        return Exit.INTERRUPTED
    certificate = run.certificate()
    if certificate is None:
        described = run.describe()
        output.line(f"{described['status']} {described.get('error', '')}: {described.get('cause', '')}")
        return Exit.JOB_REFUSED if described.get("error") == JobRefused.__name__ else Exit.FAILED
    if snapshot and (saves := saves_sentence(snapshot)):
        out.print(saves)
    out.print(certificate_panel(certificate))
    if certificate.checkpoints:
        out.print(checkpoints_table(certificate))
    has_one = certificate.verdict.last_verified_step is not None
    get = f"   belay checkpoints get {id} --into DIR" if has_one else ""
    kept = "   belay kept" if certificate.verdict.durability is Durability.KEPT else ""
    output.line(f"Next: belay report {id}{get}{kept}")
    return of_verdict(certificate.verdict)


def snapshots(run: Run) -> Iterator[tuple[Snapshot, RunPlan | None]]:
    """Until the run is over and has its certificate, through lost connections."""
    lost_since: float | None = None
    while True:
        try:
            snapshot, plan = run.snapshot(), run.plan()
            done = snapshot.is_over and has_ended(run)
            lost_since = None
        except (BotoCoreError, ClientError) as error:
            if isinstance(error, ClientError) and error.response["Error"]["Code"] not in _CONNECTION_LOST:
                raise
            lost_since = lost_since or time.monotonic()
            if time.monotonic() - lost_since > _LONGEST_DISCONNECTED_SECONDS:
                raise
            time.sleep(_POLL_SECONDS)
            continue
        yield snapshot, plan
        if done:
            return
        time.sleep(_POLL_SECONDS)


def has_ended(run: Run) -> bool:
    """Of an execution that has: a trainer that was asked to stop may still save, and its teardown follows."""
    return run.plan() is None or run.certificate() is not None


def ps(*, most: int, deployment_name: str, as_json: bool) -> Exit:
    cloud = connect(deployment_name)
    rows = side_by_side(lambda one: _row(cloud, one), cloud.executions(most=most))
    if as_json:
        output.print_json(rows)
        return Exit.OK
    if not rows:
        output.line("No run yet. Next: belay submit FILE")
        return Exit.OK
    cells = [
        (row["run"], row["job"], row["status"], output.ago(row["started_at"]), output.duration(row["lasted"]))
        for row in ({**row, "lasted": (row["ended_at"] or datetime.now(UTC)) - row["started_at"]} for row in rows)
    ]
    columns = ("run", "job", "status", "started", "lasted")
    output.console().print(output.table("", columns, cells, left=("run", "job", "status")))
    return Exit.OK


def _row(cloud: Cloud, execution: dict[str, Any]) -> dict[str, Any]:
    described = cloud.clients("stepfunctions").describe_execution(executionArn=execution["executionArn"])
    job = json.loads(described["input"])
    return {
        "run": run_id(execution["executionArn"], execution["startDate"]),
        "job": job.get("name") if isinstance(job, dict) else None,
        "status": described["status"],
        "error": described.get("error"),
        "started_at": execution["startDate"],
        "ended_at": execution.get("stopDate"),
        "execution_arn": execution["executionArn"],
    }


def status(name: str, *, deployment_name: str, as_json: bool) -> Exit:
    run = connect(deployment_name).run(name)
    snapshot, plan, certificate = run.snapshot(), run.plan(), run.certificate()
    estimate = estimate_of(snapshot, plan.rates if plan else None, begin=run.started_at, now=datetime.now(UTC))
    progress = progress_of(snapshot)
    state = snapshot.entered[-1].state if snapshot.entered else None
    if as_json:
        output.print_json(
            {
                "run": run.prefix.run,
                "job": run.prefix.job,
                "status": snapshot.status,
                "state": state,
                **vars(progress),
                "steps_at_risk": progress.steps_at_risk,
                **{key: value for key, value in vars(estimate).items() if key != "goodput"},
                "time_goodput": estimate.goodput.time,
                "verdict": certificate.verdict.model_dump(mode="json") if certificate else None,
            }
        )
        return Exit.OK
    rows = [("run", run.prefix.run), ("job", run.prefix.job), ("status", snapshot.status), ("at", state)]
    rows += _progress_rows(snapshot, estimate)
    rows += _damage_rows(snapshot.ledger)
    if certificate:
        rows.append(("verdict", certificate.sentence))
    elif snapshot.is_over and plan is None:
        described = run.describe()
        rows.append(("never accepted", f"{described.get('error')}: {described.get('cause')}"))
    known = [(name, value) for name, value in rows if value is not None]
    out = output.console()
    out.print(output.table("", ("", " "), known, left=("", " ")))
    id = run.prefix.run
    output.line(f"Next: belay {'report' if certificate else 'watch'} {id}   belay events {id}")
    return Exit.OK


def _damage_rows(ledger: Ledger | None) -> list[tuple[str, Any]]:
    damaged = ledger.damaged if ledger else []
    return [("damaged", f"step {entry.step} {entry.damage_sentence}") for entry in damaged]


def _progress_rows(snapshot: Snapshot, estimate: Estimate) -> list[tuple[str, Any]]:
    progress = progress_of(snapshot)
    of_all = "" if progress.total_steps is None else f" of {progress.total_steps}"
    at_risk = "" if estimate.at_risk_usd is None else f", {output.usd(estimate.at_risk_usd)}"
    left = None if estimate.seconds_left is None else output.duration(timedelta(seconds=estimate.seconds_left))
    return [
        ("step", None if progress.step is None else f"{progress.step}{of_all}"),
        ("time left", left),
        ("loss", None if progress.loss is None else f"{progress.loss:.4f}"),
        ("last saved step", progress.last_saved_step),
        ("last proven step", progress.last_verified_step),
        ("at risk now", f"{progress.steps_at_risk} steps{at_risk}"),
        ("attempts", estimate.attempts),
        ("spent", output.usd(estimate.spent_usd)),
        ("in the end", None if estimate.projected_usd is None else output.usd(estimate.projected_usd)),
    ]
