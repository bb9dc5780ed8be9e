"""The settings that the hook gets, from the plan."""

from pathlib import Path

from _belay_hook.settings import HookSettings

from belay.contract.max_loss import PUMP_EVERY
from belay.contract.plan import RunPlan
from containers.trainer.mount.folders import Folders


def hook_settings(
    plan: RunPlan, folders: Folders, *, node: int, attempt: int, scratch: Path, stop_seconds: int
) -> HookSettings:
    checkpoint = plan.job.checkpoint
    return HookSettings(
        run=plan.run,
        node=node,
        attempt=attempt,
        job=plan.job.name,
        root=folders.root,
        checkpoints=folders.checkpoints,
        staging=folders.staging,
        resume=folders.resume,
        resume_step=plan.resume.step if plan.resume else None,
        events=folders.events,
        every_steps=checkpoint.every_steps,
        every_seconds=checkpoint.every_seconds,
        keep=checkpoint.keep,
        stop_seconds=stop_seconds,
        scratch=scratch,
        max_loss_seconds=plan.max_loss_seconds,
        failures_per_hour=(checkpoint.failures_per_day or 0.0) / 24,
        proof_seconds=PUMP_EVERY.total_seconds(),
        exact_data=checkpoint.exact_data,
    )
