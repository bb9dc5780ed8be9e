"""The commands in the documents: would the program that each names accept it? Checked without running it."""

import functools
import importlib.util
import itertools
import json
import re
import shlex
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import botocore.session
import typer
from botocore import xform_name

from belay.cli.main import app
from stacks.settings import Settings
from tools.repository import REPOSITORY

PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "tools/local_cloud/README.md")),
    REPOSITORY / "stallfree" / "README.md",
    *sorted((REPOSITORY / "docs").glob("*.md")),
]
_FENCED = re.compile(r"^```(?:console|sh|bash)\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:\.venv/bin/)?(?:aws|belay|make|npx|pip|python3?) [^`\n]+)`")
_AWS_EVERYWHERE = {"--region", "--profile", "--endpoint-url", "--output", "--query"}
_S3_VERBS = {"cp": 2, "ls": 1, "mv": 2, "rm": 1, "sync": 2}


class WrongCommand(Exception):
    """The program would refuse this command."""


@dataclass(frozen=True)
class Command:
    page: str
    line: int
    text: str


def commands_of(page: Path) -> Iterator[Command]:
    text, name = page.read_text(), str(page.relative_to(REPOSITORY))
    for block in _FENCED.finditer(text):
        lines = block[1].replace("\\\n", " ").splitlines()
        # With a prompt somewhere, a line without one is output.
        typed = [line[2:] for line in lines if line.startswith("$ ")] or [line for line in lines if line.strip()]
        for line in typed:
            yield Command(name, text[: block.start()].count("\n") + 1, line)
    for mention in _INLINE.finditer(_FENCED.sub(lambda block: "\n" * block[0].count("\n"), text)):
        yield Command(name, text[: text.find(mention[0])].count("\n") + 1, mention[1])


def check(text: str) -> None:
    """Raises WrongCommand if a program would refuse it."""
    for program, *words in parts_of(text):
        known = _PROGRAMS.get(program)
        if known is None:
            raise WrongCommand(f"{program}: no check knows this program; write one in {Path(__file__).name}")
        known(words)


def parts_of(text: str) -> Iterator[list[str]]:
    """Each program of a line with its words, wherever it is installed."""
    for part in re.split(r"\s(?:&&|\|)\s", text.split(" #")[0]):
        program, *words = shlex.split(part)
        yield [Path(program).name, *words]


def _make(words: list[str]) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for word in words:
        variable, is_set, _ = word.partition("=")
        if is_set and f"$({variable})" not in makefile:
            raise WrongCommand(f"make: the Makefile has no {variable}")
        if not is_set and not re.search(rf"^{re.escape(word)}:", makefile, re.MULTILINE):
            raise WrongCommand(f"make: there is no target {word}")


def _belay(words: list[str]) -> None:
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands") and words and not words[0].startswith("-"):
        verb, *words = words
        if verb not in command.commands:
            raise WrongCommand(f"belay: there is no verb {verb}")
        command = command.commands[verb]
    if not words or words in (["--help"], ["--version"]):
        return  # A verb alone is only mentioned.
    try:
        # RUN or STEP stands for a value: 1 is valid as text and as a number.
        command.make_context("belay", [re.sub(r"^\[?[A-Z]+\]?(\.\.\.)?$", "1", word) for word in words])
    except Exception as error:
        raise WrongCommand(f"belay: {error.format_message() if hasattr(error, 'format_message') else error}") from error


def _aws(words: list[str]) -> None:
    service, verb, *rest = words
    if service == "s3":
        given = len(list(_before_options(rest)))
        if given != _S3_VERBS.get(verb):
            raise WrongCommand(f"aws s3 {verb}: no such verb with {given} paths")
        return
    operations = {xform_name(name, "-"): name for name in _service(service).operation_names}
    if verb not in operations:
        raise WrongCommand(f"aws {service}: there is no operation {verb}")
    shape = _service(service).operation_model(operations[verb]).input_shape
    members = {f"--{xform_name(name, '-')}": member for name, member in shape.members.items()}
    required = {f"--{xform_name(name, '-')}" for name in shape.required_members}
    # The AWS CLI has a --no- form of each boolean option.
    negated = {f"--no-{name[2:]}": name for name, member in members.items() if member.type_name == "boolean"}
    given_options = [negated.get(word, word) for word in rest if word.startswith("--")]
    if unknown := set(given_options) - members.keys() - _AWS_EVERYWHERE:
        raise WrongCommand(f"aws {service} {verb}: there is no {sorted(unknown)}")
    if missing := required - set(given_options):
        raise WrongCommand(f"aws {service} {verb}: {sorted(missing)} is missing")
    for option, value in itertools.pairwise(rest):
        if value.startswith("{") and option in members:
            json.loads(value)


@functools.cache
def _service(name: str) -> Any:
    session = botocore.session.get_session()
    if name not in session.get_available_services():
        raise WrongCommand(f"aws: there is no service {name}")
    return session.get_service_model(name)


def _python(words: list[str]) -> None:
    if words[0] != "-m" or importlib.util.find_spec(words[1]) is None:
        raise WrongCommand(f"python: there is no module {words[1:2]}")


def _pip(words: list[str]) -> None:
    if words[0] != "install":
        raise WrongCommand(f"pip: {words[0]} is not used here")
    for option, file in itertools.pairwise(words):
        if option == "-r" and not (REPOSITORY / file).is_file():
            raise WrongCommand(f"pip: there is no {file}")
    pinned = "".join(file.read_text() for file in _requirements())
    for word in words[1:]:
        if "==" in word and word not in pinned:
            raise WrongCommand(f"pip: {word} is not the version in requirements/")


def _npm(words: list[str]) -> None:
    if words != ["ci"] or not (REPOSITORY / "package-lock.json").exists():
        raise WrongCommand(f"npm: 'ci' installs what is pinned, and not {words}")


def _source(words: list[str]) -> None:
    if words != [".venv/bin/activate"]:
        raise WrongCommand(f"source: there is no {words}")


def _pre_commit(words: list[str]) -> None:
    if words != ["install"] or not (REPOSITORY / ".pre-commit-config.yaml").exists():
        raise WrongCommand(f"pre-commit: {words} is not what sets it up")


def _pytest(words: list[str]) -> None:
    for word in words:
        if not word.startswith("-") and not (REPOSITORY / word).exists():
            raise WrongCommand(f"pytest: there is no {word}")


def _requirements() -> list[Path]:
    return [
        REPOSITORY / "requirements.txt",
        *REPOSITORY.glob("requirements/*.txt"),
        *REPOSITORY.glob("containers/*/requirements.txt"),
    ]


def _npx(words: list[str]) -> None:
    program, verb, *rest = words
    if program != "cdk":
        raise WrongCommand(f"npx: package.json does not install {program}")
    if not re.search(rf"^  cdk {re.escape(verb)} ", _cdk_help(), re.MULTILINE):
        raise WrongCommand(f"cdk: there is no verb {verb}")
    left = iter(rest)
    for option in left:
        if option == "-c":
            _context(next(left, ""))
        if not re.search(rf"(?<!\S){re.escape(option)}(?![\w-])", _cdk_help(verb)):
            raise WrongCommand(f"cdk {verb}: there is no {option}")


def _context(word: str) -> None:
    """A setting, as in belay:instance_type=m7i.large."""
    name, is_set, _ = word.partition("=")
    if not is_set or name.removeprefix("belay:") not in Settings.model_fields:
        raise WrongCommand(f"cdk: there is no setting {word}")


@functools.cache
def _cdk_help(*verb: str) -> str:
    cdk = REPOSITORY / "node_modules" / ".bin" / "cdk"
    return subprocess.run([cdk, *verb, "--help"], capture_output=True, text=True, check=True).stdout


def _before_options(words: list[str]) -> Iterator[str]:
    for word in words:
        if word.startswith("--"):
            return
        yield word


_PROGRAMS = {
    "aws": _aws,
    "belay": _belay,
    "make": _make,
    "npm": _npm,
    "npx": _npx,
    "pip": _pip,
    "pre-commit": _pre_commit,
    "pytest": _pytest,
    "python": _python,
    "python3": _python,
    "source": _source,
}
