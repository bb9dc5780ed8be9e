"""The commands of the documents that need no cloud are run; make says what it would do. No command is forgotten."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.docgen.documented_commands import DRY, HERE, HOW, documented
from tools.repository import REPOSITORY

STALLFREE = REPOSITORY / "stallfree"


def of(how: str) -> list[tuple[str, ...]]:
    return [one.words for one in documented() if one.how == how]


def test_each_command_is_run_somewhere_or_says_why_not() -> None:
    assert [" ".join(words) for words in of("")] == []
    assert set(HOW.values()) == {one.how for one in documented()}


def test_what_make_would_do_is_there() -> None:
    targets = list(dict.fromkeys(word for words in of(DRY) for word in words[1:]))
    assert len(targets) > 20
    # What another make says to its own makes is not for this one.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    words = ["make", "--dry-run", "--always-make", *targets]
    done = subprocess.run(words, cwd=REPOSITORY, env=alone, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    modules = set(re.findall(r"\.venv/bin/python -m (\S+)", done.stdout))
    assert "tools.demo.demo" in modules
    assert [name for name in sorted(modules) if importlib.util.find_spec(name) is None] == []
    programs = set(re.findall(r"^\.venv/bin/([\w-]+)", done.stdout, re.MULTILINE))
    assert [name for name in sorted(programs) if not (Path(sys.executable).parent / name).exists()] == []


@pytest.mark.parametrize("words", of(HERE), ids=lambda words: "-".join(words))
def test_it_does_what_it_says(words: tuple[str, ...], tmp_path: Path) -> None:
    # Without pip it takes a tenth of a second, and writes the same environment.
    subprocess.run([sys.executable, *words[1:], "--without-pip"], cwd=tmp_path, check=True)
    assert (tmp_path / ".venv" / "bin" / "python").exists()


@pytest.mark.parametrize(
    ("folder", "files"),
    [
        (REPOSITORY, ["belay/cli/commands/job.template.jsonc", "belay/report/page.css", "belay/py.typed", "bin/belay"]),
        (STALLFREE, ["stallfree/callback.py"]),
    ],
    ids=["belay", "stallfree"],
)
def test_pip_installs_what_each_package_needs_of_its_own(folder: Path, files: list[str], tmp_path: Path) -> None:
    assert ("pip", "install", ".") in of(HOW["pip install"])
    source, target = tmp_path / "source", tmp_path / "target"
    # From a copy: a build leaves folders of its own beside what it builds.
    shutil.copytree(folder, source, ignore=_not_of_the_package)
    pip = [sys.executable, "-m", "pip", "install", ".", "--disable-pip-version-check", "--quiet"]
    alone = ["--no-deps", "--no-index", "--no-build-isolation", "--target", str(target)]
    done = subprocess.run([*pip, *alone], cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [file for file in files if not (target / file).exists()] == []


def _not_of_the_package(folder: str, names: list[str]) -> list[str]:
    kept = {"pyproject.toml", "README.md", "LICENSE", "belay", "stallfree"}
    is_top = Path(folder) in (REPOSITORY, STALLFREE)
    # Other tests write these meanwhile.
    return [name for name in names if name == "__pycache__" or (is_top and name not in kept)]
