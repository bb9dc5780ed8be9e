"""What an accepted run asks of FSx and of what runs its task, in the words of their APIs. Pure."""

from datetime import datetime, timedelta
from typing import Any

from belay.contract import tags
from belay.contract.job import Dataset, Job, Limits, Scratch
from belay.contract.messages.training import (
    LimitsInSeconds,
    LinkRequest,
    ScratchRequest,
    Tag,
    TaskRequest,
)
from belay.contract.paths import DATA_LINK, RESUME_LINK, RUN_LINK, RunPrefix, checkpoint_folder
from belay.contract.plan import ResumeFrom, RunPlan
from belay.contract.run import execution_digest
from belay.policy import ecs_words as backend

_DEFAULT_THROUGHPUT = 125


def scratch(plan: RunPlan, deployment: str) -> ScratchRequest:
    digest = execution_digest(plan.execution_arn)
    own_tags = {
        tags.DEPLOYMENT: deployment,
        tags.EXECUTION: digest,
        tags.RUN: plan.run,
        tags.JOB: plan.job.name,
        tags.STATE: tags.State.EMPTY,
    }
    all_tags = {"Name": f"{plan.job.name} {plan.run}"} | plan.job.tags | own_tags
    return ScratchRequest(
        StorageCapacity=plan.job.scratch.size_gib,
        LustreConfiguration=_lustre(plan.job.scratch, plan.started_at),
        Tags=[Tag(Key=key, Value=value) for key, value in all_tags.items()],
        ClientRequestToken=f"{digest}-scratch",
    )


def links(plan: RunPlan, deployment: str) -> list[LinkRequest]:
    """The run's own prefix to save to, the dataset to read from, and the checkpoint to start from."""
    digest = execution_digest(plan.execution_arn)
    dataset_bucket, dataset_prefix = place_of(plan.job.dataset, plan.bucket)
    targets = {
        RUN_LINK: f"s3://{plan.bucket}/{plan.prefix}",
        DATA_LINK: f"s3://{dataset_bucket}/{dataset_prefix}",
    }
    if plan.resume:
        source = RunPrefix(plan.job.name, plan.resume.run).checkpoint(plan.resume.step)
        targets[f"/{plan.resume.mount_path}"] = f"s3://{plan.bucket}/{source}"
    return [
        LinkRequest(
            FileSystemPath=path,
            DataRepositoryPath=target,
            Tags=[Tag(Key=tags.DEPLOYMENT, Value=deployment)],
            ClientRequestToken=f"{digest}-link-{path.split('/')[1]}",
        )
        for path, target in targets.items()
    ]


def task(job: Job) -> TaskRequest:
    return backend.task_request(job.resources)


def limits_in_seconds(limits: Limits) -> LimitsInSeconds:
    return LimitsInSeconds(
        start=limits.start,
        scratch=limits.scratch,
        link=limits.link,
        capacity=limits.capacity,
        train=limits.train,
    )


def resume_from(run: str, step: int) -> ResumeFrom:
    return ResumeFrom(run=run, step=step, mount_path=f"{RESUME_LINK.strip('/')}/{checkpoint_folder(step)}")


def place_of(dataset: Dataset, own_bucket: str) -> tuple[str, str]:
    """Bucket and prefix."""
    if dataset.s3.startswith("s3://"):
        bucket, _, prefix = dataset.s3.removeprefix("s3://").partition("/")
        return bucket, prefix
    return own_bucket, dataset.s3


def _lustre(scratch: Scratch, started_at: datetime) -> dict[str, Any]:
    configuration: dict[str, Any] = {
        "DeploymentType": scratch.type,
        "WeeklyMaintenanceStartTime": _farthest_maintenance(started_at),
    }
    if scratch.type == "PERSISTENT_2":
        configuration["PerUnitStorageThroughput"] = scratch.throughput or _DEFAULT_THROUGHPUT
        # With automatic backups a file system cannot be linked with S3, and FSx's documents disagree on the default.
        configuration["AutomaticBackupRetentionDays"] = 0
    return configuration


def _farthest_maintenance(started_at: datetime) -> str:
    """The weekly window that has just passed: the next is most of a week away, and few runs live to see it."""
    return (started_at - timedelta(hours=2)).strftime("%u:%H:%M")
