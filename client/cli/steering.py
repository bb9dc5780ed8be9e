"""A person steps in: a run is stopped, or goes on as another run."""

import json
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from client.checkpoints import manifest_of
from client.cli import voice
from client.cli.cloud import Cloud, connect
from client.cli.outcome import Exit, Refused
from client.cli.runs import has_ended, start
from client.estimate import Estimate, estimate_of
from client.progress import Look, progress_of
from client.reading import Run
from contract import stop_reasons
from contract.events import Started
from contract.paths import checkpoint_folder
from contract.verdict import Durability


def cancel(name: str, *, deployment_name: str) -> Exit:
    cloud = connect(deployment_name)
    run = cloud.run(name)
    status = run.describe()["status"]
    if status != "RUNNING":
        raise Refused(f"run {run.prefix.run} is over already: {status}")
    cloud.clients("stepfunctions").stop_execution(
        executionArn=run.execution_arn, error="Cancelled", cause="a person cancelled it with 'belay cancel'"
    )
    out = voice.console()
    out.print(f"Run {run.prefix.run} was told to stop. It saves, is exported and proven; then its file system goes.")
    voice.line(f"Next: belay watch {run.prefix.run}")
    return Exit.OK


def kill(name: str, *, sure: Callable[[str], bool], deployment_name: str) -> Exit:
    """What is whole on the file system is still exported and proven, as after every end."""
    cloud = connect(deployment_name)
    run = cloud.run(name)
    look = run.look()
    if look.is_over and not cloud.tasks(run.prefix.run):
        raise Refused(
            f"run {run.prefix.run} trains no longer: {look.status}; 'belay status {run.prefix.run}' says more"
        )
    plan = run.plan()
    estimate = estimate_of(look, plan.rates if plan else None, begin=run.started_at, now=datetime.now(UTC))
    out = voice.console()
    out.print(_would_be_lost(look, estimate), markup=False)
    if not sure(f"End run {run.prefix.run} without saving?"):
        out.print(f"The run goes on. To save first: belay cancel {run.prefix.run}", markup=False)
        return Exit.INTERRUPTED
    # Asked again: a person takes their time, and another attempt may have begun.
    _end_at_once(cloud, run, cloud.tasks(run.prefix.run), is_over=run.look().is_over)
    out.print(f"Run {run.prefix.run} ends now. What it had saved is exported and proven; then its file system goes.")
    voice.line(f"Next: belay watch {run.prefix.run}   belay resume {run.prefix.run}")
    return Exit.OK


def _would_be_lost(look: Look, estimate: Estimate) -> str:
    progress = progress_of(look)
    if progress.step is None or progress.step < (progress.last_saved_step or 0):
        return _of_an_unknown_step(look, progress.last_saved_step)
    time = (
        "" if estimate.unsaved_seconds is None else f", {voice.duration(timedelta(seconds=estimate.unsaved_seconds))}"
    )
    price = "" if estimate.unsaved_usd is None else f", {voice.usd(estimate.unsaved_usd)}"
    saved = "nothing is saved" if progress.last_saved_step is None else f"step {progress.last_saved_step} is saved"
    return f"At step {progress.step}, {saved}: {progress.steps_unsaved} steps{time}{price} of training would be lost."


def _of_an_unknown_step(look: Look, last_saved_step: int | None) -> str:
    """A script says which step it is at only when it logs."""
    if not any(isinstance(event, Started) for event in look.events):
        return "Training has not begun: nothing would be lost."
    lost = "nothing is saved: all training"
    if last_saved_step is not None:
        lost = f"step {last_saved_step} is saved: all training since"
    return f"It trains, and has not logged how far it is; {lost} would be lost."


def _end_at_once(cloud: Cloud, run: Run, tasks: list[dict[str, Any]], *, is_over: bool) -> None:
    """First the tag: whoever is told to stop looks for it. Then the execution, which would begin another attempt."""
    ecs, tag = cloud.clients("ecs"), stop_reasons.END_NOW_TAG
    try:
        for task in tasks:
            ecs.tag_resource(resourceArn=task["taskArn"], tags=[{"key": tag, "value": "belay kill"}])
        if not is_over:
            cloud.clients("stepfunctions").stop_execution(
                executionArn=run.execution_arn, error="Killed", cause="a person ended it at once with 'belay kill'"
            )
        for task in tasks:
            ecs.stop_task(
                cluster=task["clusterArn"], task=task["taskArn"], reason=f"{stop_reasons.KILLED} (belay kill)"
            )
    except BaseException:
        # It goes on, and whatever stops it later is not to cost its last save.
        for task in tasks:
            with suppress(Exception):
                ecs.untag_resource(resourceArn=task["taskArn"], tagKeys=[tag])
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
        _refuse_if_more_is_to_come(run)
    job: dict[str, Any] = json.loads(described["input"])
    job["resume"] = "auto" if step is None else f"{run.prefix.run}/{checkpoint_folder(step)}"
    return start(cloud, job, follow=follow, as_json=as_json)


def _refuse_if_more_is_to_come(run: Run) -> None:
    """Begun now, it would train again what a last save, or an export once it is mended, brings into S3."""
    id, certificate = run.prefix.run, run.certificate()
    at_once = f"'belay resume {id} --step STEP' goes on at once from a step that is in S3 already"
    if not has_ended(run):
        told = f"has no certificate yet, so it may still save or export; 'belay watch {id}' waits for it"
        raise Refused(f"run {id} {told}, and {at_once}")
    if certificate and certificate.verdict.durability is Durability.KEPT:
        told = "has checkpoints on its kept file system that are not in S3; 'belay kept' says why"
        raise Refused(f"run {id} {told}. Mend that, then 'belay sweep'; {at_once}")
