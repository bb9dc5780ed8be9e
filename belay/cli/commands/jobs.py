"""Write, check and plan a job file, before anything is spent."""

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from belay.cli import job_schema, output
from belay.cli.outcome import Exit, Refused
from belay.client import jobfile
from belay.client.planning import Earlier, Plan, plan_of
from belay.client.progress import bytes_text, seconds_text
from belay.client.save_interval import interval_of
from belay.contract.events import Saved, Step
from belay.contract.faults import JobRefused
from belay.contract.job import Job
from belay.contract.max_loss import PUMP_EVERY
from belay.policy.budgets import bounds_of
from belay.policy.prices import rates_of

if TYPE_CHECKING:
    from belay.cli.connection import Cloud

_LAST_FEW_RUNS = 5
_TEMPLATE = Path(__file__).parent / "job.template.jsonc"


def init(file: Path) -> Exit:
    if file.exists():
        raise Refused(f"{file} is there already; name another file")
    file.write_text(_TEMPLATE.read_text())
    output.line(f"Wrote {file}. Next: edit it, then belay plan {file}")
    return Exit.OK


def print_schema() -> Exit:
    print(job_schema.text(), end="", flush=True)
    return Exit.OK


def validate(file: Path, *, as_json: bool) -> Exit:
    if faults := jobfile.read(file).faults():
        return refused(file, faults, as_json=as_json)
    if as_json:
        output.print_json({"valid": True, "faults": []})
    else:
        output.console().print(f"[green]✓[/] {escape(str(file))} is a job that Belay accepts")
    return Exit.OK


def refused(file: Path, faults: list[jobfile.Fault], *, as_json: bool = False) -> Exit:
    """Every verb prints the same document about a job with faults."""
    if as_json:
        output.print_json({"valid": False, "faults": [vars(fault) for fault in faults]})
        return Exit.JOB_REFUSED
    out = output.console()
    for fault in faults:
        output.line(f"{file}:{fault.line}:{fault.column}  {fault.message}")
    out.print(f"[red]{len(faults)} fault{'s' if len(faults) > 1 else ''}[/]; nothing was started")
    return Exit.JOB_REFUSED


def plan(file: Path, *, parameters: float | None, deployment_name: str, as_json: bool) -> Exit:
    from belay.aws import instances
    from belay.cli import connection

    read = jobfile.read(file)
    if faults := read.faults():
        return refused(file, faults, as_json=as_json)
    connected = connection.connect(deployment_name)
    job, prices = read.job(), connected.deployment.prices
    found = instances.fit(connected.clients, job.resources, instance_type=connected.deployment.instance_type)
    at_this_deployment = found.faults
    try:
        bounds_of(job, rates_of(job, prices), datetime.now(UTC))
    except JobRefused as at_these_prices:
        at_this_deployment += at_these_prices.faults
    if at_this_deployment:
        return refused(file, read.placed(at_this_deployment), as_json=as_json)
    made = plan_of(job, prices, parameters=parameters, earlier=_earlier(connected, job))
    if as_json:
        output.print_json({**vars(made), "not_checked": found.unchecked})
    else:
        _show(made, file, not_checked=found.unchecked)
    return Exit.OK


def _earlier(connected: "Cloud", job: Job) -> Earlier | None:
    """The newest of the last few runs that saved anything."""
    for run in islice(connected.runs_of(job.name), _LAST_FEW_RUNS):
        snapshot = run.snapshot()
        saves = [event for event in snapshot.events if isinstance(event, Saved)]
        if not saves:
            continue
        steps = [event.step_seconds for event in snapshot.events if isinstance(event, Step) and event.step_seconds]
        entries = snapshot.ledger.entries if snapshot.ledger else []
        plan = run.plan()
        is_alike = plan is not None and _promised(plan.job) == _promised(job)
        # From the moment it was asked for: before that the pump may wait, as long as max_loss allows.
        proofs = [one.verified_at - one.asked_at + PUMP_EVERY for one in entries if one.verified_at and one.asked_at]
        return Earlier(
            saves,
            step_seconds=median(steps) if steps else None,
            proof_seconds=max(proofs).total_seconds() if proofs else None,
            interval_seconds=interval_of(saves) if is_alike else None,
        )
    return None


def _promised(job: Job) -> tuple[str | None, float | None]:
    return job.checkpoint.max_loss, job.checkpoint.failures_per_day


def _show(plan: Plan, file: Path, *, not_checked: list[str]) -> None:
    size = (
        "unknown; say --parameters 7e9" if plan.checkpoint_gb is None else bytes_text(round(plan.checkpoint_gb * 1e9))
    )
    on_disk = "unknown" if plan.save_seconds is None else f"{seconds_text(plan.save_seconds)}, while training goes on"
    rows: list[tuple[str, Any]] = [
        ("file system", f"{plan.file_system_gib} GiB {plan.file_system_type}"),
        ("  writes at", f"{plan.write_mb_per_second:,.0f} MB/s in all"),
        ("one checkpoint", size),
        ("  on disk after", on_disk),
        ("  training waits", "no earlier run says" if plan.stall_seconds is None else seconds_text(plan.stall_seconds)),
        ("saved every", plan.cadence),
        ("a lost server costs", plan.loss),
        ("an hour costs", f"{output.usd(plan.usd_per_hour)}"),
        ("  instance", f"{output.usd(plan.instance_usd_per_hour)}"),
        ("  file system", f"{output.usd(plan.file_system_usd_per_hour)}"),
        ("at most", f"{output.usd(plan.most_usd)}: {plan.most_because}"),
        ("between runs", "nothing runs; S3 keeps what was saved, at S3's price"),
        *(("not checked", what) for what in not_checked),
    ]
    out = output.console()
    out.print(output.table(f"{file}: what would happen", ("", " "), rows, left=("", " ")))
    output.line(f"\nNext: belay submit {file} --follow")
