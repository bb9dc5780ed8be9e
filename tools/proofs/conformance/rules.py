"""The rules of AWS that are known, each with its source and the test that shows it on the local cloud: rules/*.tsv."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

_REPOSITORY = Path(__file__).parents[3]
_FOLDER = Path(__file__).parent / "rules"
_COLUMNS = ["operation", "rule", "source", "enforced_by"]
NOT_ENFORCED = "not enforced: "


class Rule(NamedTuple):
    operation: str
    rule: str
    source: str
    """Where AWS says so. `[?]`: it is only believed; `belay doctor --live` shows what it can of that."""
    enforced_by: str
    """A test, as pytest names it; or why this cloud does not enforce it."""

    @property
    def is_enforced(self) -> bool:
        return not self.enforced_by.startswith(NOT_ENFORCED)


def rules() -> list[Rule]:
    return [rule for path in sorted(_FOLDER.glob("*.tsv")) for rule in _rules_in(path)]


def _rules_in(path: Path) -> Iterator[Rule]:
    with path.open(newline="") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        assert next(lines) == _COLUMNS, f"{path}: the first line names other columns"
        for line in lines:
            assert len(line) == len(_COLUMNS), f"{path}: {line}"
            yield Rule(*(cell.strip() for cell in line))


def faults_of(known: list[Rule], used: set[str]) -> list[str]:
    """What makes the table untrue, as sentences."""
    with_rules = {one.operation for one in known}
    faults = [f"{one}: is used, and has no rule" for one in sorted(used - with_rules)]
    for one in known:
        name = f"{one.operation}: {one.rule}"
        if not one.source:
            faults.append(f"{name}: has no source")
        if one.is_enforced and not _is_a_test(one.enforced_by):
            faults.append(f"{name}: there is no test {one.enforced_by}")
        if not one.is_enforced and not one.enforced_by.removeprefix(NOT_ENFORCED).strip():
            faults.append(f"{name}: does not say why it is not enforced")
    return faults


def _is_a_test(id: str) -> bool:
    path, _, name = id.partition("::")
    file = _REPOSITORY / path
    return file.is_file() and f"def {name.partition('[')[0]}(" in file.read_text()
