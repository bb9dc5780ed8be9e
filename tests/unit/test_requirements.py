"""requirements.txt is enough for synth and for the command line, and no package is wanted in two versions."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

from tools.repository import REPOSITORY

# What is imported under another name than it is installed by, and what comes with another package.
_BRINGS = {
    "aws_cdk": "aws-cdk-lib",
    "cdk_nag": "cdk-nag",
    "constructs": "aws-cdk-lib",
    "jsii": "aws-cdk-lib",
    "botocore": "boto3",
    "pydantic_core": "pydantic",
}
_OURS = {"belay", "stacks"}
_PINNED = re.compile(r"^([\w-]+)(?:\[.*\])?==(\S+)$", re.MULTILINE)


def pinned(file: Path) -> dict[str, str]:
    return {name.replace("_", "-").lower(): version for name, version in _PINNED.findall(file.read_text())}


def imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return found - sys.stdlib_module_names - _OURS


def test_what_synth_and_the_command_line_import_is_in_requirements_txt() -> None:
    # What Lambdas alone import comes with their layer.
    in_lambdas = {REPOSITORY / "belay" / "aws" / name for name in ("clients.py", "telemetry.py")}
    # A program that the command line uploads, for the trainer's image to run.
    in_image = {REPOSITORY / "belay" / "client" / "live" / "inspection.py"}
    files = {REPOSITORY / "app.py"} | {file for name in _OURS for file in (REPOSITORY / name).rglob("*.py")}
    needed = {_BRINGS.get(name, name) for file in files - in_lambdas - in_image for name in imported(file)}
    assert needed == pinned(REPOSITORY / "requirements.txt").keys()


def test_no_package_is_wanted_in_two_versions() -> None:
    files = [
        REPOSITORY / "requirements.txt",
        *REPOSITORY.glob("requirements/*.txt"),
        REPOSITORY / "containers/trainer/requirements.txt",
    ]
    versions: dict[str, set[str]] = defaultdict(set)
    for file in files:
        for name, version in pinned(file).items():
            versions[name].add(version)
    assert len(versions) > 50
    assert {name: wanted for name, wanted in versions.items() if len(wanted) > 1} == {}
