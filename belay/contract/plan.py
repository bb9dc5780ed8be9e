"""run.json: the job as it was accepted. The trainer reads it on the mount, people read it in S3."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

from belay.contract.job import Job
from belay.contract.prices import Rates


class ResumeFrom(BaseModel):
    """The checkpoint that training starts from, and where the mount shows it."""

    model_config = ConfigDict(frozen=True)

    run: str
    step: int
    mount_path: str


class RunPlan(BaseModel):
    model_config = ConfigDict(frozen=True)

    run: str
    execution_arn: str
    started_at: datetime
    bucket: str
    prefix: str
    job: Job
    resume: ResumeFrom | None
    rates: Rates | None = None
    spend_until: datetime | None = None
    """When the budget leaves only what saving and exporting take."""
    max_loss_seconds: float | None = None
    """The most work that a failure may cost."""
