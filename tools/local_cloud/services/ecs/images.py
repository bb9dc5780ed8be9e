"""The images that the docker stand-in built: found again by the name a task definition gives."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote


class ImageMissing(Exception):
    """Nothing was pushed under this name."""


@dataclass(frozen=True)
class Image:
    """What a Dockerfile says about how to start, and the files that it copied."""

    root: Path
    entrypoint: list[str]
    command: list[str]
    environment: dict[str, str]
    working_directory: str

    @property
    def folder(self) -> Path:
        """Its working directory."""
        return self._on_disk(self.working_directory)

    def variables(self) -> dict[str, str]:
        """Its environment variables, with those that say where Python looks as paths of this machine."""
        paths = {
            name: ":".join(str(self._on_disk(path)) for path in value.split(":"))
            for name in ("PYTHONPATH", "VIRTUAL_ENV")
            if (value := self.environment.get(name))
        }
        return {**self.environment, **paths}

    def programs(self) -> list[str]:
        """Where its own programs are: those of its Python, where it has one."""
        environment = self.variables().get("VIRTUAL_ENV")
        return [f"{environment}/bin"] if environment else []

    def program(self, name: str) -> str:
        """A program of the image; what RUN installed under a path is found by its name on this machine."""
        if not name.startswith("/"):
            return name
        return str(self._on_disk(name)) if self._on_disk(name).exists() else Path(name).name

    def _on_disk(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def load(images: Path, name: str) -> Image:
    """The image pushed under a name."""
    reference = images / "names" / quote(name, safe="")
    if not reference.is_file():
        raise ImageMissing(name)
    folder = images / "built" / reference.read_text().strip()
    image = json.loads((folder / "image.json").read_text())
    return Image(
        root=folder / "root",
        entrypoint=image["entrypoint"],
        command=image["command"],
        environment=image["environment"],
        working_directory=image["working_directory"],
    )
