"""From a container of a task to a command, an environment and a folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.local_cloud.clients import Identity
from tools.local_cloud.services.ecs.images import Image, load
from tools.local_cloud.services.ecs.model import Container, Task
from tools.local_cloud.services.ecs.process import ContainerProcess, Line
from tools.local_cloud.settings import HOST_PROGRAMS, REGION, Settings

# The path of the agent's metadata about a task.
METADATA = "/_belay/metadata/"
RoleSession = Callable[[str, str], Identity | None]


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """Starts containers; `role_session` gives the credentials of a task role, or None where it allows nothing."""

    settings: Settings
    role_session: RoleSession

    def start(self, task: Task, container: Container, on_line: Line) -> ContainerProcess:
        """The container, started. Raises ImageMissing when its image was never pushed."""
        image = load(self.settings.images, container.definition["image"])
        folder = self.settings.tasks / task.id / container.name
        folder.mkdir(parents=True)
        entrypoint: list[str] = container.definition.get("entryPoint") or image.entrypoint
        program, *arguments = [*entrypoint, *(container.command or image.command)]
        environment = {
            **image.variables(),
            **self._host(folder, image),
            **self._credentials(task),
            "ECS_CONTAINER_METADATA_URI_V4": f"{self.settings.endpoint}{METADATA}{task.id}",
            **container.environment,
        }
        return ContainerProcess(
            [image.program(program), *arguments],
            mark=f"{task.id}/{container.name}",
            environment=environment,
            working_directory=image.folder,
            folder=folder,
            on_line=on_line,
        )

    def _host(self, folder: Path, image: Image) -> dict[str, str]:
        # The container sees a machine with the programs that a GPU host and its image have, and nothing of ours.
        own = [str(HOST_PROGRAMS), *image.programs(), str(Path(sys.executable).parent)]
        programs = [*own, os.environ.get("PATH", "/usr/bin:/bin")]
        return {
            "PATH": ":".join(programs),
            "HOME": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
            "BELAY_MOUNT_POINT": str(folder / "fsx"),
            "BELAY_LOCAL_FILE_SYSTEMS": str(self.settings.file_systems),
        }

    def _credentials(self, task: Task) -> dict[str, str]:
        role = task.definition.get("taskRoleArn")
        identity = self.role_session(role, task.id) if role else None
        if identity is None:
            return {}
        return {
            "AWS_ACCESS_KEY_ID": identity.access_key,
            "AWS_SECRET_ACCESS_KEY": identity.secret_key,
            "AWS_SESSION_TOKEN": identity.session_token or "",
            "AWS_ENDPOINT_URL": self.settings.endpoint,
        }
