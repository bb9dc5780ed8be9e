"""The Python of an image, on this machine.

What an image's RUN lines would download is in the environment of the local cloud already. So `python -m venv` becomes
a virtual environment that sees the packages and programs of that environment, and `pip install` of a folder that the
image holds becomes a copy of its packages and .pth files. Of RUN nothing else is followed.
"""

from __future__ import annotations

import shlex
import shutil
import sys
import sysconfig
import venv
from pathlib import Path
from string import Template

_BETWEEN = {"&&", "||", ";", "|"}


def commands_of(text: str, variables: dict[str, str]) -> list[list[str]]:
    """The commands of a RUN line, with the image's own variables filled in."""
    words = shlex.shlex(Template(text).safe_substitute(variables), posix=True, punctuation_chars=True)
    words.whitespace_split = True
    commands: list[list[str]] = [[]]
    for word in words:
        if word in _BETWEEN:
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def follow_run(text: str, variables: dict[str, str], root: Path) -> None:
    """Do in the image at `root` what a RUN line does for its Python. The image is at its final place."""
    for words in commands_of(text, variables):
        if words[1:3] == ["-m", "venv"]:
            make(_inside(root, words[3]))
        elif words[:2] == ["pip", "install"] and "VIRTUAL_ENV" in variables:
            for folder in (_inside(root, word) for word in words[2:]):
                if (folder / "pyproject.toml").is_file():
                    install(folder, _inside(root, variables["VIRTUAL_ENV"]))


def make(folder: Path) -> None:
    """A virtual environment with everything that is installed beside this Python."""
    venv.EnvBuilder(symlinks=True).create(folder)
    packages = sysconfig.get_path("purelib")
    (_packages_of(folder) / "local_environment.pth").write_text(f"import site; site.addsitedir({packages!r})\n")
    for program in Path(sysconfig.get_path("scripts")).iterdir():
        ours = folder / "bin" / program.name
        if not ours.exists() and (script := _python_script(program)):
            ours.write_bytes(f"#!{folder}/bin/python\n".encode() + script)
            ours.chmod(0o755)


def install(project: Path, environment: Path) -> None:
    """The project's packages, and the .pth files beside them."""
    packages = _packages_of(environment)
    for package in project.iterdir():
        if (package / "__init__.py").is_file():
            shutil.copytree(package, packages / package.name, dirs_exist_ok=True)
        elif package.suffix == ".pth":
            shutil.copy2(package, packages)


def _packages_of(environment: Path) -> Path:
    return environment / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def _python_script(program: Path) -> bytes | None:
    """What a program of this environment does, without the line that names its Python."""
    if not program.is_file():
        return None
    first, _, rest = program.read_bytes().partition(b"\n")
    python = Path(first.removeprefix(b"#!").decode(errors="replace"))
    return rest if first.startswith(b"#!") and python.parent.resolve() == program.parent.resolve() else None


def _inside(root: Path, path: str) -> Path:
    return root / path.lstrip("/")
