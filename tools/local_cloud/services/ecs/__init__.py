"""ECS tasks as processes of this machine: placement, lifecycle, output, exit codes."""

from tools.local_cloud.services.ecs.service import Ecs

__all__ = ["Ecs"]
