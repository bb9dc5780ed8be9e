"""What a user's process has of ours: the library stallfree and one private package. Its own modules are its own."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.local_cloud.services.ecs.images import Image

from .conftest import Scratch, script

PACKAGES = ("contract", "containers")
MODULES = (
    *("belay", "client", "entry", "lambdas", "launch", "mount", "recipes", "report", "stacks", "supervision", "tools"),
    *("training", "sitecustomize", "usercustomize"),
)
LOOK = """
import importlib.util, json, os, pathlib, sys
names = ("belay", "containers", "sitecustomize", "usercustomize", "stallfree", "_belay_hook")
found = {name: importlib.util.find_spec(name) for name in names}
seen = {
    "path": sys.path,
    "PYTHONPATH": os.environ.get("PYTHONPATH"),
    "modules": {name: spec.origin for name, spec in found.items() if spec},
    "hooked": any(type(finder).__module__.startswith("_belay_hook") for finder in sys.meta_path),
}
folder = pathlib.Path("run/staging")
(folder / f"{os.getpid()}.seen").write_text(json.dumps(seen))
"""


def write_modules(folder: Path) -> None:
    for package in PACKAGES:
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text("OWNER = 'the user'")
    for module in MODULES:
        (folder / f"{module}.py").write_text("OWNER = 'the user'")


def seen_by(scratch: Scratch) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in (scratch.files / "run" / "staging").glob("*.seen")]


@pytest.fixture
def ours(image: Image) -> str:
    """Where the entry point's own code is."""
    return str(image.folder)


@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_a_script_with_modules_named_like_ours_gets_its_own_and_is_protected(scratch: Scratch, launcher: str) -> None:
    write_modules(scratch.data)
    check = f"import {', '.join((*PACKAGES, *MODULES))}\n" + "".join(
        f"assert {name}.OWNER == 'the user', {name}\n" for name in (*PACKAGES, *MODULES)
    )
    (scratch.data / "train.py").write_text(check + script())
    arguments = {"torchrun": ["train.py", "1e-2"], "python": ["python", "data/train.py", "1e-2"]}
    scratch.plan({"command": arguments[launcher]})
    task = scratch.start()
    assert task.wait() == 0, task.output
    assert task.steps("saved") == [5, 10, 15, 20, 24]


@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_scripts_and_the_processes_that_they_start_see_only_the_library_and_the_hook(
    scratch: Scratch, ours: str, start: str
) -> None:
    (scratch.data / "train.py").write_text(
        f"import multiprocessing, subprocess, sys\n"
        f"def look():\n    exec({LOOK!r}, {{}})\n"
        f"if __name__ == '__main__':\n    look()\n"
        f"    worker = multiprocessing.get_context({start!r}).Process(target=look)\n    worker.start()\n"
        f"    worker.join()\n    subprocess.run([sys.executable, '-c', {LOOK!r}], check=True)\n"
        f"    subprocess.run(['python', '-c', {LOOK!r}], check=True)\n"
    )
    scratch.plan({"command": ["train.py"]})
    task = scratch.start()
    assert task.wait() == 0, task.output
    processes = seen_by(scratch)
    assert len(processes) == 4
    for process in processes:
        modules = process["modules"]
        assert process["PYTHONPATH"] is None and process["hooked"]
        assert not [path for path in process["path"] if path.startswith(ours)]
        assert not [origin for origin in modules.values() if str(origin).startswith(ours)]
        assert {"site-packages"} == {Path(modules[name]).parts[-3] for name in ("stallfree", "_belay_hook")}


def test_a_users_own_pythonpath_and_sitecustomize_change_nothing_for_the_hook(scratch: Scratch) -> None:
    write_modules(scratch.data / "lib")
    (scratch.data / "lib" / "sitecustomize.py").write_text("import os; os.environ['CUSTOMIZED'] = 'by the user'")
    (scratch.data / "train.py").write_text(f"import os\nassert os.environ['CUSTOMIZED'] == 'by the user'\n{script()}")
    scratch.plan({"command": ["bash", "-c", "PYTHONPATH=data/lib python data/train.py 1e-2"]})
    task = scratch.start()
    assert task.wait() == 0, task.output
    assert task.steps("saved") == [5, 10, 15, 20, 24]


# As docs/guide.md has it.
@pytest.mark.parametrize(
    ("python", "is_reached"),
    [
        ("python", True),
        ("python -E", True),
        ("python -I", True),
        ("python -s -P", True),
        ("python -S", False),
        ("$HOME/own/bin/python", False),
        ("$HOME/linked/bin/python", True),
    ],
)
def test_which_pythons_the_hook_reaches(scratch: Scratch, image: Image, python: str, is_reached: bool) -> None:
    (scratch.data / "look.py").write_text(LOOK)
    link = f"import site; site.addsitedir('{packages_of(image)}')"
    (scratch.data / "run.sh").write_text(
        "python -m venv --without-pip $HOME/own\npython -m venv --without-pip $HOME/linked\n"
        f'for folder in $HOME/linked/lib/python*/site-packages; do echo "{link}" > $folder/image.pth; done\n'
        f"{python} data/look.py\n"
    )
    scratch.plan({"command": ["bash", "data/run.sh"]})
    task = scratch.start()
    assert task.wait() == 0, task.output
    [process] = seen_by(scratch)
    assert process["hooked"] is is_reached


def packages_of(image: Image) -> Path:
    [environment] = image.programs()
    return Path(environment).parent / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


@pytest.fixture(autouse=True)
def nothing_is_written_into_the_image(image: Image) -> Iterator[None]:
    before = {path for path in image.root.rglob("*") if "__pycache__" not in path.parts}
    yield
    assert {path for path in image.root.rglob("*") if "__pycache__" not in path.parts} == before
