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

    def python_path(self) -> str:
        """Where Python looks in this image: its PYTHONPATH, and its working directory as `python -m` does."""
        inside = [*self.environment.get("PYTHONPATH", "").split(":"), self.working_directory]
        return ":".join(str(self._on_disk(path)) for path in inside if path)

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
    said = json.loads((folder / "image.json").read_text())
    return Image(
        root=folder / "root",
        entrypoint=said["entrypoint"],
        command=said["command"],
        environment=said["environment"],
        working_directory=said["working_directory"],
    )
