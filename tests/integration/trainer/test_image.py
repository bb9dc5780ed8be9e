"""The image holds what it uses, all of it and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.definitions.imports import modules_in, reachable
from tools.local_cloud.services.ecs.images import Image

# Where the image's processes begin: the task, the launcher, a recipe, any Python of the user's.
BEGINNINGS = (
    "containers.trainer.entry.__main__",
    "containers.trainer.launch.torchrun",
    "containers.trainer.recipes.__main__",
    "_belay_hook.start",
)


def packages_of(image: Image) -> Path:
    [programs] = image.programs()
    [packages] = Path(programs).parent.glob("lib/python*/site-packages")
    return packages


@pytest.fixture
def modules(image: Image) -> dict[str, Path]:
    """Our own code in the image. stallfree is a library, and is there as a whole."""
    hook = packages_of(image)
    return {
        **modules_in(image.folder),
        **{name: file for name, file in modules_in(hook).items() if name.split(".")[0] == "_belay_hook"},
    }


def test_every_file_of_ours_is_used(image: Image, modules: dict[str, Path]) -> None:
    packages = {name for name, file in modules.items() if file.name == "__init__.py"}
    used = reachable(modules, BEGINNINGS)
    assert set(modules) - used == set(), "in the image, and nothing imports it: see the Dockerfile"
    assert packages <= used
    others = [file for file in image.folder.rglob("*") if file.is_file() and file.suffix not in (".py", ".pyc")]
    assert others == []


def test_nothing_that_it_imports_is_missing(image: Image) -> None:
    [programs] = image.programs()
    # torchrun's file is not imported but run, as the others are.
    imports = "; ".join(f"import {name}" for name in (*BEGINNINGS, "_belay_hook.trainer_callback"))
    done = subprocess.run(
        [f"{programs}/python", "-c", imports],
        cwd=image.folder,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_what_is_planted_is_found(image: Image, modules: dict[str, Path], tmp_path: Path) -> None:
    unused = tmp_path / "unused.py"
    unused.write_text("import containers.trainer.entry.recorder")
    assert "containers.trainer.unused" not in reachable({**modules, "containers.trainer.unused": unused}, BEGINNINGS)
