"""What runs the training tasks, as far as Lambdas and clients need it. ECS is the one there is."""

from typing import Protocol

from belay.aws.deployment import Clients
from belay.aws.ecs import Ecs
from belay.contract.deployment import Deployment
from belay.policy.training_tasks import TrainingTask


class Backend(Protocol):
    def tasks_of(self, run: str, *, attempt: int | None = None) -> list[TrainingTask]:
        """The training tasks of the run, or of one attempt at it; those that ended may be among them."""
        ...

    def tasks_on(self, instance: str) -> list[str]:
        """The ids of what trains on this EC2 instance."""
        ...

    def stop(self, task: str, *, reason: str) -> None:
        """Tell it to save and end. The reason is read again when it is decided how training ended."""
        ...

    def tag(self, task: str, key: str, value: str) -> None:
        """A word that the trainer reads when it is asked to stop (docs/decisions/0019)."""
        ...

    def untag(self, task: str, key: str) -> None: ...

    def registered_mib(self, run: str) -> int | None:
        """How much memory the instance of the run's task has for tasks; None as long as it has no instance."""
        ...


def connect() -> Backend:
    """By the variables that stacks/backends gives a function for this."""
    return Ecs.from_environment()


def of_deployment(clients: Clients, deployment: Deployment) -> Backend:
    """With the credentials of a person."""
    return Ecs(clients("ecs"), cluster=deployment.tasks.cluster_arn, family=deployment.tasks.family)
