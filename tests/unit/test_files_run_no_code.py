"""No file that we read can run code: a checkpoint lies where others can write, a training script for one."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_OURS = {"node_modules", "build", "cdk.out"}
# DeepSpeed's own loader runs the code in DeepSpeed's files; this reads one that it has made of them a moment ago.
AS_DEEPSPEED_DOES = Path("stallfree/stallfree/loading/deepspeed.py")
RUN_CODE = {("pickle", "load"), ("pickle", "loads"), ("pickle", "Unpickler"), ("numpy", "load")}


def calls_that_may_run_code(source: str) -> Iterator[str]:
    """`torch.load`, where it is not told to take weights alone, and what unpickles anything; under whatever name."""
    tree = ast.parse(source)
    meant: dict[str, tuple[str, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            meant |= {alias.asname or alias.name: (alias.name,) for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            meant |= {alias.asname or alias.name: (node.module, alias.name) for alias in node.names}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = ast.unparse(node.func).split(".")
        name = (*meant.get(called[0], (called[0],)), *called[1:])
        told = {keyword.arg: keyword.value for keyword in node.keywords}
        weights_only = told.get("weights_only")
        is_told = isinstance(weights_only, ast.Constant) and weights_only.value is True
        if (name == ("torch", "load") and not is_told) or name in RUN_CODE:
            yield f"line {node.lineno}: {ast.unparse(node)}"


def _files() -> list[Path]:
    relative = (file.relative_to(ROOT) for file in ROOT.rglob("*.py"))
    return [file for file in relative if not any(part in NOT_OURS or part.startswith(".") for part in file.parts)]


def test_nothing_of_ours_unpickles_a_file() -> None:
    # What one process of a test hands to another is the tests' own.
    ours = [file for file in _files() if file.name != "processes.py"]
    assert Path("stallfree/stallfree/loading/tensors.py") in ours
    found = {str(file): list(calls_that_may_run_code((ROOT / file).read_text())) for file in ours}
    assert len(found.pop(str(AS_DEEPSPEED_DOES))) == 1
    assert {file: calls for file, calls in found.items() if calls} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import torch\ntorch.load(path)",
        "import torch\ntorch.load(path, weights_only=False)",
        "import torch\ntorch.load(path, weights_only=trusting)",
        "import torch as t\nt.load(path)",
        "from torch import load as read\nread(path)",
        "import pickle\npickle.loads(content)",
    ],
)
def test_and_it_would_be_found(source: str) -> None:
    assert len(list(calls_that_may_run_code(source))) == 1


def test_weights_alone_may_be_read() -> None:
    assert list(calls_that_may_run_code("import torch\ntorch.load(path, weights_only=True)")) == []
