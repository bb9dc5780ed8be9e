"""Writes the matrix of role x action x target: what the simulator of IAM allows, for a reviewer to read.

It has every action of every service that any role names. IAM denies an action that no statement of a role names, so
these are counted without a simulation; `test_matrix.py` simulates a sample of them.
"""

import dataclasses
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path
from typing import Any

from tools.console import without_options
from tools.definitions.resolve import ACCOUNT, REGION
from tools.definitions.synth import synth
from tools.definitions.templates import Assembly
from tools.proofs.permissions.names import JOB, RUN
from tools.proofs.permissions.simulator import ALLOWED, Policies, Question, ask, catalogue, policies_of
from tools.proofs.permissions.targets import FOREIGN, OWN, WHOSE, Target, targets

GOLDEN = Path(__file__).parent / "golden" / "matrix.txt"


def _tagging(**tags: str) -> dict[str, Any]:
    keys = [f"belay:{tag}" for tag in tags]
    return {**{f"aws:RequestTag/belay:{tag}": value for tag, value in tags.items()}, "aws:TagKeys": keys}


# Tags that a request may carry. The caller chooses them, so each choice is a cell.
_TAGGING: dict[str, dict[str, Any]] = {
    "tagged as ours": _tagging(deployment="belay"),
    "tagged as ours and empty": _tagging(deployment="belay", state="empty"),
    "tagged as ours and in-use": _tagging(deployment="belay", state="in-use"),
    "tagged as another deployment's": _tagging(deployment="team1-x", state="empty"),
    "marked in-use": _tagging(state="in-use"),
    "marked empty": _tagging(state="empty"),
    "marked in-use and given to another job": _tagging(state="in-use", job="other"),
}
# These create their target: it has no tags yet, and no known name.
_CREATING = {
    "fsx:CreateFileSystem": "fsx:file-system",
    "fsx:CreateDataRepositoryAssociation": "fsx:association",
    "fsx:CreateDataRepositoryTask": "fsx:task",
}
_CONDITIONS: dict[str, dict[str, dict[str, Any]]] = {
    "fsx:CreateFileSystem": {"untagged": {}, **_TAGGING},
    "fsx:CreateDataRepositoryAssociation": {"untagged": {}, **_TAGGING},
    "fsx:TagResource": _TAGGING,
    "s3:ListBucket": {
        "all of it": {},
        "the plan of a run": {"s3:prefix": f"jobs/{JOB}/{RUN}/run.json"},
        "the checkpoints of a run": {"s3:prefix": f"jobs/{JOB}/{RUN}/checkpoints/"},
    },
    "iam:PassRole": {
        f"to {service}": {"iam:PassedToService": f"{service}.amazonaws.com"}
        for service in ("ecs-tasks", "ec2", "lambda")
    },
    "iam:CreateServiceLinkedRole": {
        f"for {service}": {"iam:AWSServiceName": f"{service}.amazonaws.com"}
        for service in ("fsx", "s3.data-source.lustre.fsx", "spot")
    },
}


@dataclass(frozen=True)
class Cell:
    role: str
    action: str
    condition: str
    kind: str
    whose: str
    question: Question


class Matrix:
    """Of one synth."""

    def __init__(self, assembly: Assembly) -> None:
        self.policies: Policies = policies_of(assembly)
        self._functions = [f.properties["FunctionName"] for f in assembly.of_type("AWS::Lambda::Function")]

    @cached_property
    def actions(self) -> dict[str, list[dict[str, str]]]:
        named = {action.partition(":")[0] for patterns in self.named.values() for action in patterns}
        return catalogue(sorted(named))

    @cached_property
    def named(self) -> dict[str, set[str]]:
        """The actions, or patterns of them, that each role's statements name."""
        return {role: {*_actions(documents)} for role, documents in self.policies.of_roles.items()}

    @cached_property
    def cells(self) -> list[Cell]:
        return [
            cell for role in sorted(self.named) for action in sorted(self.actions) for cell in self._row(role, action)
        ]

    @cached_property
    def allowed(self) -> set[Cell]:
        asked = [cell for cell in self.cells if self.is_named(cell)]
        verdicts = ask(self.policies, [cell.question for cell in asked])
        errors = [(cell, verdict) for cell, verdict in zip(asked, verdicts, strict=True) if verdict.startswith("Error")]
        assert not errors, errors[:3]
        return {cell for cell, verdict in zip(asked, verdicts, strict=True) if verdict == ALLOWED}

    def is_named(self, cell: Cell) -> bool:
        return any(fnmatch(cell.action, pattern) for pattern in self.named[cell.role])

    def written_out(self) -> str:
        """The rows with something allowed in them; every other cell is refused."""
        rows: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        exist: dict[tuple[str, str], set[str]] = defaultdict(set)
        for cell in self.cells:
            row = f"{cell.action}{f' {cell.condition}' if cell.condition else ''} | {cell.kind}"
            exist[cell.role, row].add(cell.whose)
            if cell in self.allowed:
                rows[cell.role][row].add(cell.whose)
        lines = []
        for role in sorted(self.named):
            lines += ["", role, *([] if rows[role] else ["    nothing"])]
            for row, whose in sorted(rows[role].items()):
                answers = ", ".join(f"{one} {'YES' if one in whose else 'no'}" for one in _in_order(exist[role, row]))
                lines.append(f"    {row} | {answers}")
        return "\n".join(lines).lstrip() + "\n"

    def _row(self, role: str, action: str) -> Iterator[Cell]:
        for target in self._targets_of(action):
            for condition, context in _CONDITIONS.get(action, {"": {}}).items():
                question = Question(role, action, target.arn, {**target.context, **context})
                yield Cell(role, action, condition, target.kind, target.whose, question)

    @cached_property
    def _by_type(self) -> dict[str, list[Target]]:
        by_type = defaultdict(list)
        for target in targets([name.removeprefix("belay-") for name in self._functions if name.startswith("belay-")]):
            by_type[target.type].append(target)
        return by_type

    def _targets_of(self, action: str) -> Iterator[Target]:
        types = self.actions[action]
        if not types:
            yield Target("", "(no resource)", "any", "*")
        for one in types:
            if one["type"] == _CREATING.get(action):
                yield dataclasses.replace(_foreign(one), kind=f"new {one['type']}", whose=OWN)
                continue
            yield from self._by_type.get(one["type"], [_foreign(one)])


def _foreign(type: dict[str, str]) -> Target:
    """For types of resources that Belay has none of: one of another owner."""
    known = {"Partition": "aws", "Region": REGION, "Account": ACCOUNT}
    arn = re.sub(r"\$\{(\w+)\}", lambda match: known.get(match[1], "somebodys"), type["arn"])
    return Target(type["type"], type["type"], FOREIGN, arn)


def _actions(documents: list[dict[str, Any]]) -> Iterator[str]:
    for document in documents:
        for statement in document["Statement"]:
            yield from [statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"]


def _in_order(whose: set[str]) -> list[str]:
    return [one for one in ("any", *WHOSE) if one in whose]


def figures(matrix: Matrix) -> dict[str, int]:
    return {
        "roles": len(matrix.named),
        "actions": len(matrix.actions),
        "cells": len(matrix.cells),
        "asked": sum(map(matrix.is_named, matrix.cells)),
        "allowed": len(matrix.allowed),
    }


def main() -> None:
    without_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        matrix = Matrix(Assembly(synth(Path(folder))))
        GOLDEN.write_text(matrix.written_out())
        print(f"written: {GOLDEN.name}; {figures(matrix)}")


if __name__ == "__main__":
    main()
