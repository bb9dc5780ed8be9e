"""What a deployment says of itself: one document, written by the training stack and read by the command line."""

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from belay.contract.prices import Prices

# Raised when an older command line could no longer read the document, or a newer one needs what it lacks.
VERSION: Final = 1


def parameter_name(deployment: str) -> str:
    """The SSM parameter that holds it."""
    return f"/belay/{deployment}"


class Tasks(BaseModel):
    """Where the back end has its training tasks."""

    model_config = ConfigDict(frozen=True)

    cluster_arn: str
    family: str


class Deployment(BaseModel):
    """Everything that a client needs in order to start runs, to read them, and to stop them."""

    model_config = ConfigDict(frozen=True)

    version: Literal[1] = VERSION
    belay_version: str
    """Of the Belay that was deployed."""
    messages_version: int = 0
    """Of what its runs say to each other. Absent in documents of earlier versions."""
    name: str
    bucket: str
    train_machine_arn: str
    teardown_machine_arn: str
    trainer_log_group: str
    tasks: Tasks
    instance_type: str
    availability_zone: str
    prices: Prices
    notices_topic_arn: str
    dashboard_url: str
