"""The table of names that belong to other libraries: it is whole, true, and compared with what is installed."""

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from stallfree.callback import Stallfree
from stallfree.internals import check as checking
from stallfree.internals.check import UnknownVersion, check
from stallfree.internals.names import NAMES, TRIED
from stallfree.internals.replacing import replace
from transformers import Trainer

import stallfree

PACKAGE = Path(stallfree.__path__[0])
IN_THE_TABLE = {name.name for name in NAMES}
_PARAMETERS = {parameter for name in NAMES if name.parameters for parameter in name.parameters.split(", ")}
_PRIVATE = re.compile(r"_[A-Za-z]\w*")
# Python's own documentation has it.
_DOCUMENTED = {"_exit"}


def _trees(folder: Path) -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text()) for file in sorted(folder.rglob("*.py"))}


def _own_names(trees: dict[Path, ast.Module]) -> Iterator[str]:
    """What the package itself defines or sets."""
    for tree in trees.values():
        for node in ast.walk(tree):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                    yield name
                case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                    yield name


def _private_names(tree: ast.Module) -> Iterator[str]:
    """As an attribute of anything, imported, or in a string that `getattr`, `replace` or the like gets."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Constant(value=str(name)) if _PRIVATE.fullmatch(name):
                yield name
            case ast.ImportFrom(module=str(module), names=names):
                imported = [alias.name for alias in names]
                is_private = any(_PRIVATE.fullmatch(part) for part in module.split("."))
                yield from (name for name in imported if is_private or _PRIVATE.fullmatch(name))
            case ast.keyword(arg=str(name)) if _PRIVATE.fullmatch(name):
                yield name


def _replaced_names(tree: ast.Module) -> Iterator[str]:
    """What the package puts something else in the place of: by its own functions, or by hand."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="replace"), args=[_, ast.Constant(value=str(name)), _]):
                yield name
            case ast.Call(func=ast.Name(id="replaced_in"), args=[_, ast.Constant(value=str(name)), _]):
                yield name
            case ast.Call(func=ast.Name(id="replaced"), keywords=keywords):
                yield from (keyword.arg for keyword in keywords if keyword.arg)
            case ast.Attribute(value=ast.Name(id="torch" | "transformers" | "Trainer"), attr=name, ctx=ast.Store()):
                yield name


def _missing_in_the_table(folder: Path) -> dict[str, set[str]]:
    trees = _trees(folder)
    own = {*_own_names(_trees(PACKAGE)), *_own_names(trees), *_DOCUMENTED, *_PARAMETERS}
    found = {
        str(file.relative_to(folder)): {*(set(_private_names(tree)) - own), *_replaced_names(tree)} - IN_THE_TABLE
        for file, tree in trees.items()
    }
    return {file: names for file, names in found.items() if names}


def test_every_private_name_that_is_used_stands_in_the_table() -> None:
    assert _missing_in_the_table(PACKAGE) == {}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("trainer._inner_training_loop()", "_inner_training_loop"),
        ("from torch.storage import _load_from_bytes", "_load_from_bytes"),
        ("from torch._utils import annotate", "annotate"),
        ('getattr(optimizer, "_step_count", 0)', "_step_count"),
        ('replace(trainer, "log", print)', "log"),
        ("with replaced(trainer, evaluate=print): pass", "evaluate"),
        ("torch.load = print", "load"),
    ],
)
def test_one_that_does_not_is_found(line: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(line)
    assert _missing_in_the_table(tmp_path) == {"module.py": {name}}


def test_no_name_stands_in_the_table_that_nothing_uses() -> None:
    table = PACKAGE / "internals" / "names.py"
    text = "\n".join(file.read_text() for file in PACKAGE.rglob("*.py") if file != table)
    assert [name.name for name in NAMES if not re.search(rf"\b{name.name}\b", text)] == []


def test_what_is_installed_has_every_name() -> None:
    check()


def test_nothing_is_replaced_that_is_not_in_the_table(make_trainer: Any) -> None:
    with pytest.raises(AssertionError, match="evaluate stands in the table"):
        replace(make_trainer(), "evaluate", print)


def _stand_in(**changes: Any) -> type:
    """A Trainer with other methods; None: without."""
    members = {name: member for name, member in vars(Trainer).items() if name not in ("__dict__", "__weakref__")}
    return type("Trainer", (), {name: member for name, member in (members | changes).items() if member is not None})


def test_a_name_that_is_gone_is_said_in_one_sentence_when_the_trainer_is_made(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = checking._installed
    stand_in = _stand_in(_load_best_model=None)
    monkeypatch.setattr(checking, "_installed", lambda of: stand_in if of.endswith(":Trainer") else found(of))
    monkeypatch.setattr("importlib.metadata.version", lambda library: "5.99.0")
    with pytest.raises(UnknownVersion) as refusal:
        make_trainer(Stallfree())
    assert str(refusal.value) == (
        "stallfree cannot work with transformers (5.99.0): Trainer._load_best_model is gone. "
        "Install transformers 5.23, or take Stallfree() out of the Trainer's callbacks."
    )


def test_other_parameters_are_said_with_the_ones_that_were_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    def _save_checkpoint(self: Any, model: Any) -> None: ...

    _save_checkpoint.__module__ = "transformers.trainer"
    stand_in = _stand_in(_save_checkpoint=_save_checkpoint)
    found = checking._installed
    expected = re.escape("Trainer._save_checkpoint(self, model, trial) is now Trainer._save_checkpoint(self, model)")
    with pytest.raises(UnknownVersion, match=expected):
        check(find=lambda owner: stand_in if owner.endswith(":Trainer") else found(owner))


def test_a_method_that_a_script_has_replaced_is_its_own_affair() -> None:
    stand_in, found = _stand_in(get_batch_samples=lambda self, *everything: None), checking._installed
    check(find=lambda owner: stand_in if owner.endswith(":Trainer") else found(owner))


def test_every_fault_of_several_libraries_is_in_the_sentence() -> None:
    def find(owner: str) -> Any:
        if owner == "torch.serialization":
            return SimpleNamespace()
        if owner == "transformers:TrainerState":
            raise ImportError
        return checking._installed(owner)

    expected = (
        "TrainerState.save_to_json is gone; torch.serialization._serialization_tls is gone. Install torch 2.13 and"
    )
    with pytest.raises(UnknownVersion, match=re.escape(expected)):
        check(find=find)


def test_what_it_says_to_install_is_what_the_package_asks_for() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    versions = dict(re.split("[~>]=", line) for line in asked)
    assert {name: version for name, version in TRIED.items() if name in versions} == {
        name: version.removesuffix(".0") for name, version in versions.items() if name in TRIED
    }
