"""Before anything is spent: a job file is written, checked and planned."""

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from client import deployment, jobfile
from client.cli import voice
from client.cli.outcome import Exit, Refused
from client.planning import Earlier, Plan, plan_of
from client.progress import bytes_text, seconds_text
from contract import schema
from contract.bounds import bounds_of
from contract.events import Saved, Step
from contract.faults import JobRefused
from contract.losses import PUMP_EVERY
from contract.prices import rates_of

if TYPE_CHECKING:
    from client.cli.cloud import Cloud

_LAST_FEW_RUNS = 5
_TEMPLATE = Path(__file__).parent / "job.template.jsonc"


def init(file: Path) -> Exit:
    if file.exists():
        raise Refused(f"{file} is there already; name another file")
    file.write_text(_TEMPLATE.read_text())
    voice.line(f"Wrote {file}. Next: edit it, then belay plan {file}")
    return Exit.OK


def print_schema() -> Exit:
    print(schema.text(), end="", flush=True)
    return Exit.OK


def validate(file: Path, *, as_json: bool) -> Exit:
    if faults := jobfile.read(file).faults():
        return refused(file, faults, as_json=as_json)
    if as_json:
        voice.answer({"valid": True, "faults": []})
    else:
        voice.console().print(f"[green]✓[/] {escape(str(file))} is a job that Belay accepts")
    return Exit.OK


def refused(file: Path, faults: list[jobfile.Fault], *, as_json: bool = False) -> Exit:
    """Whatever the verb was: a program gets the same document about a job with faults."""
    if as_json:
        voice.answer({"valid": False, "faults": [vars(fault) for fault in faults]})
        return Exit.JOB_REFUSED
    out = voice.console()
    for fault in faults:
        voice.line(f"{file}:{fault.line}:{fault.column}  {fault.message}")
    out.print(f"[red]{len(faults)} fault{'s' if len(faults) > 1 else ''}[/]; nothing was started")
    return Exit.JOB_REFUSED


def plan(file: Path, *, parameters: float | None, deployment_name: str, as_json: bool) -> Exit:
    from client.cli import cloud

    read = jobfile.read(file)
    if faults := read.faults():
        return refused(file, faults, as_json=as_json)
    connected = cloud.connect(deployment_name)
    job, prices = read.job(), deployment.prices(connected.clients, connected.deployment)
    try:
        bounds_of(job, rates_of(job, prices), datetime.now(UTC))
    except JobRefused as at_these_prices:
        return refused(file, read.placed(at_these_prices.faults), as_json=as_json)
    made = plan_of(job, prices, parameters=parameters, earlier=_earlier(connected, job.name))
    if as_json:
        voice.answer(vars(made))
    else:
        _show(made, file)
    return Exit.OK


def _earlier(connected: "Cloud", job: str) -> Earlier | None:
    """The newest of the last few runs that saved anything."""
    for run in islice(connected.runs_of(job), _LAST_FEW_RUNS):
        look = run.look()
        saves = [event for event in look.events if isinstance(event, Saved)]
        if not saves:
            continue
        steps = [event.step_seconds for event in look.events if isinstance(event, Step) and event.step_seconds]
        entries = look.ledger.entries if look.ledger else []
        # From when it was asked for: before that the pump may have rested, as max_loss allowed.
        proofs = [one.verified_at - one.asked_at + PUMP_EVERY for one in entries if one.verified_at and one.asked_at]
        return Earlier(
            saves,
            step_seconds=median(steps) if steps else None,
            proof_seconds=max(proofs).total_seconds() if proofs else None,
        )
    return None


def _show(plan: Plan, file: Path) -> None:
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
        ("an hour costs", f"{voice.usd(plan.usd_per_hour)}"),
        ("  instance", f"{voice.usd(plan.instance_usd_per_hour)}"),
        ("  file system", f"{voice.usd(plan.file_system_usd_per_hour)}"),
        ("at most", f"{voice.usd(plan.most_usd)}: {plan.most_because}"),
        ("between runs", "nothing runs; S3 keeps what was saved, at S3's price"),
    ]
    out = voice.console()
    out.print(voice.table(f"{file}: what would happen", ("", " "), rows, left=("", " ")))
    voice.line(f"\nNext: belay submit {file} --follow")
