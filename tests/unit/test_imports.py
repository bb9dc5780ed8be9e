"""One order of imports for every folder: nothing imports what stands above it, so there is no circle either."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.repository import REPOSITORY

# From the ground up. A folder may import itself, and what its line names.
ORDER = {
    "stallfree": set[str](),
    "belay.contract": set[str](),
    "belay.goodput": {"belay.contract"},
    "belay.policy": {"belay.contract", "belay.goodput"},
    "belay.aws": {"belay.contract", "belay.goodput", "belay.policy"},
    "belay.report": {"belay.contract", "belay.goodput", "belay.policy"},
    "belay.client": {"belay.contract", "belay.goodput", "belay.policy", "belay.aws"},
    "belay.cli": {"belay.contract", "belay.goodput", "belay.policy", "belay.aws", "belay.report", "belay.client"},
    # What a user's process gets of the image: it must not need the contract there.
    "_belay_hook": {"stallfree"},
    "containers.trainer": {"belay.contract", "_belay_hook"},
    "lambdas": {"belay.contract", "belay.goodput", "belay.policy", "belay.aws"},
    "stacks": {"belay.contract", "belay.policy"},
}
# Where the ones are that stand in a folder of another name.
PLACES = {"stallfree": "stallfree/stallfree", "_belay_hook": "containers/trainer/hook/_belay_hook"}
# What is never deployed may import everything but the tests.
TOOLS = "tools"


def folder_of(module: str) -> str | None:
    """The entry of the order that a module belongs to."""
    return next((name for name in (*ORDER, TOOLS, "tests") if module == name or module.startswith(f"{name}.")), None)


def files_of(folder: str) -> Iterator[Path]:
    root = REPOSITORY / PLACES.get(folder, folder.replace(".", "/"))
    others = [REPOSITORY / place for name, place in PLACES.items() if name != folder]
    yield from sorted(file for file in root.rglob("*.py") if not any(file.is_relative_to(other) for other in others))


def imports_of(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            # `from belay import aws` names a folder only together with its name.
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def forbidden(folder: str, source: str) -> list[str]:
    allowed = {folder, *ORDER[folder]}
    named = {module: folder_of(module) for module in imports_of(source)}
    return sorted(module for module, of in named.items() if of is not None and of not in allowed)


def test_every_folder_imports_only_what_stands_below_it() -> None:
    found = {
        str(file.relative_to(REPOSITORY)): wrong
        for folder in ORDER
        for file in files_of(folder)
        if (wrong := forbidden(folder, file.read_text()))
    }
    assert found == {}


def test_tools_import_no_tests() -> None:
    found = [
        f"{file.relative_to(REPOSITORY)}: {module}"
        for file in files_of(TOOLS)
        for module in imports_of(file.read_text())
        if folder_of(module) == "tests"
    ]
    assert found == []


def test_every_python_file_belongs_to_a_folder_of_the_order() -> None:
    known = {file for folder in (*ORDER, TOOLS, "tests") for file in files_of(folder)}
    places = ("belay", "containers", "lambdas", "stacks", "tools", "tests", "stallfree/stallfree")
    every = {file for place in places for file in (REPOSITORY / place).rglob("*.py")}
    assert {str(file.relative_to(REPOSITORY)) for file in every - known} == {"belay/__init__.py"}


def test_the_order_itself_has_no_circle() -> None:
    names = list(ORDER)
    assert all(names.index(below) < names.index(name) for name, lower in ORDER.items() for below in lower)


def test_an_arrow_up_is_noticed() -> None:
    assert forbidden("belay.contract", "from belay.policy import prices") == ["belay.policy.prices"]
    assert forbidden("belay.policy", "import belay.aws.bucket") == ["belay.aws.bucket"]
    assert forbidden("lambdas", "from tests.unit import conftest\nimport json") == ["tests.unit.conftest"]
    assert forbidden("stacks", "from belay.contract import tags") == []
