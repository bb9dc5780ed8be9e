"""ECS tasks as processes of this machine: placement, lifecycle, output, exit codes."""

from local_cloud.services.ecs.run import Delays
from local_cloud.services.ecs.service import Ecs

__all__ = ["Delays", "Ecs"]
