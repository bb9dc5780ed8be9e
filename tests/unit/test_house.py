"""The house's own promises: what its folders import, what its Makefile and its README offer."""

import ast
import json
import re
import subprocess
from pathlib import Path

import pytest

from belay.contract.faults import parse_job
from stacks.settings import Settings

REPOSITORY = Path(__file__).parents[2]
TARGETS = (
    "demo",
    "drill",
    "cloud",
    "check",
    "format",
    "lint",
    "types",
    "dockerfile",
    "tests",
    "unit",
    "synth",
    "integration",
    "e2e",
)
DOCUMENTS = [REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md")] + sorted(REPOSITORY.glob("docs/**/*.md"))


def imported(file: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def test_reading_a_run_needs_no_local_cloud() -> None:
    readers = list(REPOSITORY.glob("belay/**/*.py"))

    assert readers
    assert [
        (file.name, name)
        for file in readers
        for name in imported(file)
        if name.startswith(("tools", "lambdas", "stacks"))
    ] == []


@pytest.mark.parametrize("target", TARGETS)
def test_every_promised_target_is_there_and_says_what_it_does(target: str) -> None:
    assert re.search(rf"^{target}:.*## \S", (REPOSITORY / "Makefile").read_text(), re.MULTILINE)


def test_make_alone_lists_the_targets() -> None:
    listed = subprocess.run(["make"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout

    assert [target for target in TARGETS if f"make {target} " not in listed] == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_make_target_that_a_document_names_exists(document: Path) -> None:
    offered = set(re.findall(r"^([a-z0-9-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|^\$ |^)make ([a-z0-9-]+)", document.read_text(), re.MULTILINE))

    assert named <= offered


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_links_to_exists(document: Path) -> None:
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", document.read_text())

    assert [link for link in links if not (document.parent / link).exists()] == []


def test_the_job_in_the_readme_is_one_that_is_accepted() -> None:
    [text] = re.findall(r"```json\n(.*?)```", (REPOSITORY / "README.md").read_text(), re.DOTALL)

    assert parse_job(json.loads(text)).name == "support-classifier"


def test_every_setting_is_in_the_readme() -> None:
    named = re.findall(r"^\| `([a-z_]+)` \|", (REPOSITORY / "README.md").read_text(), re.MULTILINE)

    assert named == list(Settings.model_fields)
