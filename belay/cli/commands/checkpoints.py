"""A run's checkpoints in S3: listed, downloaded, verified again, removed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from belay.cli import output
from belay.cli.connection import Cloud, connect
from belay.cli.outcome import Exit, Refused
from belay.client import checkpoints
from belay.client.progress import bytes_text
from belay.client.reading import Run
from belay.contract.ledger import Ledger, LedgerEntry
from belay.contract.manifest import Manifest
from belay.contract.paths import checkpoint_folder


def ls(name: str, *, deployment_name: str, as_json: bool) -> Exit:
    cloud = connect(deployment_name)
    run = cloud.run(name)
    ledger = _ledger(run)
    # The ledger says what was proven; it does not know what was removed from the bucket since.
    keys = {item["Key"] for item in cloud.objects(run.prefix.checkpoints)}
    there = {entry.step for entry in ledger.entries if run.prefix.manifest(entry.step) in keys}
    if as_json:
        output.print_json([{**entry.model_dump(mode="json"), "in_s3": entry.step in there} for entry in ledger.entries])
        return Exit.OK
    rows = [
        (
            entry.step,
            entry.files,
            bytes_text(entry.bytes),
            entry.written_at and output.ago(entry.written_at),
            _state(entry, is_there=entry.step in there),
        )
        for entry in ledger.entries
    ]
    output.console().print(output.table("", ("step", "files", "size", "written", "in S3"), rows, left=("in S3",)))
    return Exit.OK


def _state(entry: LedgerEntry, *, is_there: bool) -> str:
    if entry.verified_at and not is_there:
        return "was proven, and is not there any more"
    if entry.damage_sentence:
        return f"was proven, and {entry.damage_sentence}"
    return entry.problem or (f"proven ({entry.proof})" if entry.verified_at else "not proven yet")


def get(name: str, *, step: int | None, into: Path | None, deployment_name: str) -> Exit:
    cloud = connect(deployment_name)
    run = cloud.run(name)
    step = _newest(run) if step is None else step
    folder = into or Path(checkpoint_folder(step))
    if folder.exists() and any(folder.iterdir()):
        raise Refused(f"{folder} is not empty; name another folder with --into")
    with _Bar(f"step {step}") as bar:
        manifest = _proven(
            lambda: checkpoints.get(
                cloud.clients("s3"),
                bucket=cloud.deployment.bucket,
                prefix=run.prefix,
                step=step,
                into=folder,
                arrived=bar.advance,
            )
        )
    text = f"{len(manifest.files)} files, {bytes_text(manifest.total_bytes)}, all as its manifest says"
    output.console().print(f"[green]✓[/] {escape(str(folder))}: {text}", soft_wrap=True)
    return Exit.OK


def verify(name: str, *, step: int | None, deployment_name: str, as_json: bool) -> Exit:
    cloud = connect(deployment_name)
    run = cloud.run(name)
    if step is not None:
        checkpoints.manifest_of(cloud.clients("s3"), bucket=cloud.deployment.bucket, prefix=run.prefix, step=step)
    steps = [step] if step is not None else [entry.step for entry in _ledger(run).entries if entry.verified_at]
    if not steps:
        raise Refused(f"run {run.prefix.run} has no checkpoint that is proven in S3", Exit.NOT_FOUND)
    found = [_verify_one(cloud, run, one, quiet=as_json) for one in steps]
    if as_json:
        output.print_json(found)
    return Exit.OK if all(one["whole"] for one in found) else Exit.DAMAGED


def _verify_one(cloud: Cloud, run: Run, step: int, *, quiet: bool) -> dict[str, Any]:
    bucket, s3 = cloud.deployment.bucket, cloud.clients("s3")
    out = output.console()
    try:
        with _Bar(f"step {step}", quiet=quiet) as bar:
            manifest = checkpoints.verify(s3, bucket=bucket, prefix=run.prefix, step=step, arrived=bar.advance)
    except (checkpoints.CheckpointDamaged, checkpoints.NoCheckpoint) as fault:
        if not quiet:
            out.print(f"[red]✗[/] step {step}: {escape(str(fault))}", soft_wrap=True)
        return {"step": step, "whole": False, "problem": str(fault)}
    if not quiet:
        text = f"{len(manifest.files)} files, {bytes_text(manifest.total_bytes)}, every byte read and compared"
        out.print(f"[green]✓[/] step {step}: {text}")
    return {"step": step, "whole": True, "files": len(manifest.files), "bytes": manifest.total_bytes}


def rm(name: str, *, step: int, confirm: Callable[[str], bool], deployment_name: str) -> Exit:
    cloud = connect(deployment_name)
    run = cloud.run(name)
    newest = _ledger(run).last_verified_step
    if newest is not None and step == newest:
        raise Refused(f"step {step} is the newest that is proven; the next run resumes from it, so it stays")
    bucket = cloud.deployment.bucket
    checkpoints.manifest_of(cloud.clients("s3"), bucket=bucket, prefix=run.prefix, step=step)
    if not confirm(f"Remove s3://{bucket}/{run.prefix.checkpoint(step)} for good?"):
        output.console().print("Nothing was removed.")
        return Exit.INTERRUPTED
    count = checkpoints.remove(cloud.clients("s3"), bucket=bucket, prefix=run.prefix, step=step)
    output.console().print(f"Removed step {step}: {count} objects")
    return Exit.OK


def _ledger(run: Run) -> Ledger:
    ledger = run.ledger()
    if ledger is None:
        raise Refused(f"run {run.prefix.run} has saved no checkpoint that has reached S3", Exit.NOT_FOUND)
    return ledger


def _newest(run: Run) -> int:
    step = _ledger(run).last_verified_step
    if step is None:
        raise Refused(f"run {run.prefix.run} has no checkpoint that is proven in S3", Exit.NOT_FOUND)
    return step


def _proven(work: Callable[[], Manifest]) -> Manifest:
    try:
        return work()
    except checkpoints.CheckpointDamaged as damaged:
        raise Refused(str(damaged), Exit.DAMAGED) from None


class _Bar:
    """Bytes that arrived, on the screen of a terminal only."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
        out = output.console(error=True)
        self._progress = Progress(*columns, console=out, transient=True, disable=quiet or not out.is_terminal)
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> "_Bar":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def advance(self, count: int) -> None:
        self._progress.advance(self._task, count)
