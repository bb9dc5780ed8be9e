"""Stop a run, end it at once, or resume it as another run."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from belay.cli import output
from belay.cli.commands.runs import has_ended, start
from belay.cli.connection import Cloud, connect
from belay.cli.outcome import Exit, Refused
from belay.client.checkpoints import manifest_of
from belay.client.estimate import Estimate, estimate_of
from belay.client.progress import Snapshot, progress_of
from belay.client.reading import Run
from belay.contract import stop_reasons
from belay.contract.events import Started
from belay.contract.paths import checkpoint_folder
from belay.contract.verdict import Durability
from belay.policy.training_tasks import TrainingTask

_THEN = "is exported and proven; then its file system is deleted."


def cancel(name: str, *, deployment_name: str) -> Exit:
    cloud = connect(deployment_name)
    run = cloud.run(name)
    status = run.describe()["status"]
    if status != "RUNNING":
        raise Refused(f"run {run.prefix.run} is over already: {status}")
    cloud.clients("stepfunctions").stop_execution(
        executionArn=run.execution_arn, error="Cancelled", cause="a person cancelled it with 'belay cancel'"
    )
    out = output.console()
    out.print(f"Run {run.prefix.run} is asked to stop. It saves; what it has saved {_THEN}")
    output.line(f"Next: belay watch {run.prefix.run}")
    return Exit.OK


def kill(name: str, *, confirm: Callable[[str], bool], deployment_name: str) -> Exit:
    """What is whole on the file system is still exported and proven, as after every end."""
    cloud = connect(deployment_name)
    run = cloud.run(name)
    snapshot = run.snapshot()
    if snapshot.is_over and not cloud.tasks(run.prefix.run):
        raise Refused(
            f"run {run.prefix.run} is not training now: {snapshot.status}; 'belay status {run.prefix.run}' says more"
        )
    plan = run.plan()
    estimate = estimate_of(snapshot, plan.rates if plan else None, begin=run.started_at, now=datetime.now(UTC))
    out = output.console()
    out.print(_work_at_risk(snapshot, estimate), markup=False)
    if not confirm(f"End run {run.prefix.run} without saving?"):
        out.print(f"The run goes on. To save first: belay cancel {run.prefix.run}", markup=False)
        return Exit.INTERRUPTED
    # Listed again: while the person decided, another attempt may have begun.
    _end_at_once(cloud, run, cloud.tasks(run.prefix.run), is_over=run.snapshot().is_over)
    out.print(f"Run {run.prefix.run} ends now. What it had saved {_THEN}")
    output.line(f"Next: belay watch {run.prefix.run}   belay resume {run.prefix.run}")
    return Exit.OK


def _work_at_risk(snapshot: Snapshot, estimate: Estimate) -> str:
    progress = progress_of(snapshot)
    if progress.step is None or progress.step < (progress.last_saved_step or 0):
        return _at_unknown_step(snapshot, progress.last_saved_step)
    time = (
        "" if estimate.unsaved_seconds is None else f", {output.duration(timedelta(seconds=estimate.unsaved_seconds))}"
    )
    price = "" if estimate.unsaved_usd is None else f", {output.usd(estimate.unsaved_usd)}"
    saved = "nothing is saved" if progress.last_saved_step is None else f"step {progress.last_saved_step} is saved"
    return f"At step {progress.step}, {saved}: {progress.steps_unsaved} steps{time}{price} of training would be lost."


def _at_unknown_step(snapshot: Snapshot, last_saved_step: int | None) -> str:
    """A script says which step it is at only when it logs."""
    if not any(isinstance(event, Started) for event in snapshot.events):
        return "Training has not begun: nothing would be lost."
    lost = "nothing is saved: all training"
    if last_saved_step is not None:
        lost = f"step {last_saved_step} is saved: all training since"
    return f"It trains, and has not logged how far it is; {lost} would be lost."


def _end_at_once(cloud: Cloud, run: Run, tasks: list[TrainingTask], *, is_over: bool) -> None:
    """First the tag, which a trainer reads when it is asked to stop; then the execution, which would start it again."""
    backend, tag = cloud.backend, stop_reasons.END_NOW_TAG
    try:
        for task in tasks:
            backend.tag(task.id, tag, "belay kill")
        if not is_over:
            cloud.clients("stepfunctions").stop_execution(
                executionArn=run.execution_arn, error="Killed", cause="a person ended it at once with 'belay kill'"
            )
        for task in tasks:
            backend.stop(task.id, reason=f"{stop_reasons.KILLED} (belay kill)")
    except BaseException:
        # The run goes on, and a later stop must not cost its last save.
        for task in tasks:
            with suppress(Exception):
                backend.untag(task.id, tag)
        raise


def resume(name: str, *, step: int | None, follow: bool, deployment_name: str, as_json: bool) -> Exit:
    """The same job again. Alone it takes the newest whole checkpoint of its name, whichever run that is of."""
    cloud = connect(deployment_name)
    run = cloud.run(name)
    described = run.describe()
    if described["status"] == "RUNNING":
        raise Refused(f"run {run.prefix.run} is still running; 'belay cancel {run.prefix.run}' saves and stops it")
    if step is not None:
        manifest_of(cloud.clients("s3"), bucket=cloud.deployment.bucket, prefix=run.prefix, step=step)
    else:
        _refuse_if_it_may_still_save(run)
    job: dict[str, Any] = json.loads(described["input"])
    job["resume"] = "auto" if step is None else f"{run.prefix.run}/{checkpoint_folder(step)}"
    return start(cloud, job, follow=follow, as_json=as_json)


def _refuse_if_it_may_still_save(run: Run) -> None:
    """Started now, it would train again what a last save, or an export that is tried again, still brings into S3."""
    id, certificate = run.prefix.run, run.certificate()
    at_once = f"'belay resume {id} --step STEP' goes on at once from a step that is in S3 already"
    if not has_ended(run):
        why = f"has no certificate yet, so it may still save or export; 'belay watch {id}' waits for it"
        raise Refused(f"run {id} {why}, and {at_once}")
    if certificate and certificate.verdict.durability is Durability.KEPT:
        why = "has checkpoints on its kept file system that are not in S3; 'belay kept' says why"
        raise Refused(f"run {id} {why}. Fix the cause, then 'belay sweep'; {at_once}")
