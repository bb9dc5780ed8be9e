"""Role x action x thing, each asked of the simulator of IAM, written out as a reviewer reads it.

Every action of every service that any role names is in it. An action that no statement of a role names is refused by
what IAM is, and is counted without being asked; `test_matrix.py` asks a sample of those all the same.
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

from tests.permissions.names import JOB, RUN
from tests.permissions.simulator import ALLOWED, Policies, Question, ask, catalogue, policies_of
from tests.permissions.things import FOREIGN, OWN, WHOSE, Thing, things
from tests.support.resolve import ACCOUNT, REGION
from tests.support.synth import synth
from tests.support.templates import Assembly

GOLDEN = Path(__file__).parent / "golden" / "matrix.txt"


def _tagging(**tags: str) -> dict[str, Any]:
    keys = [f"belay:{tag}" for tag in tags]
    return {**{f"aws:RequestTag/belay:{tag}": value for tag, value in tags.items()}, "aws:TagKeys": keys}


# What a caller chooses to say in its request. A cell is one choice: the role may say whatever it likes.
_TAGGING: dict[str, dict[str, Any]] = {
    "tagged as ours": _tagging(deployment="belay"),
    "tagged as ours and empty": _tagging(deployment="belay", state="empty"),
    "tagged as ours and in-use": _tagging(deployment="belay", state="in-use"),
    "tagged as another deployment's": _tagging(deployment="team1-x", state="empty"),
    "marked in-use": _tagging(state="in-use"),
    "marked empty": _tagging(state="empty"),
    "marked in-use and given to another job": _tagging(state="in-use", job="other"),
}
# What these make is new: it has no tags yet, and no name that anyone could know before.
_CREATING = {
    "fsx:CreateFileSystem": "fsx:file-system",
    "fsx:CreateDataRepositoryAssociation": "fsx:association",
    "fsx:CreateDataRepositoryTask": "fsx:task",
}
_SAID: dict[str, dict[str, dict[str, Any]]] = {
    "fsx:CreateFileSystem": {"untagged": {}, **_TAGGING},
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
    said: str
    kind: str
    whose: str
    question: Question


class Matrix:
    """All of it for one synth."""

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
            row = f"{cell.action}{f' {cell.said}' if cell.said else ''} | {cell.kind}"
            exist[cell.role, row].add(cell.whose)
            if cell in self.allowed:
                rows[cell.role][row].add(cell.whose)
        lines = []
        for role in sorted(self.named):
            lines += ["", role, *([] if rows[role] else ["    nothing"])]
            for row, whose in sorted(rows[role].items()):
                told = ", ".join(f"{one} {'YES' if one in whose else 'no'}" for one in _in_order(exist[role, row]))
                lines.append(f"    {row} | {told}")
        return "\n".join(lines).lstrip() + "\n"

    def _row(self, role: str, action: str) -> Iterator[Cell]:
        for thing in self._things_of(action):
            for said, context in _SAID.get(action, {"": {}}).items():
                question = Question(role, action, thing.arn, {**thing.context, **context})
                yield Cell(role, action, said, thing.kind, thing.whose, question)

    @cached_property
    def _by_type(self) -> dict[str, list[Thing]]:
        by_type = defaultdict(list)
        for thing in things([name.removeprefix("belay-") for name in self._functions if name.startswith("belay-")]):
            by_type[thing.type].append(thing)
        return by_type

    def _things_of(self, action: str) -> Iterator[Thing]:
        types = self.actions[action]
        if not types:
            yield Thing("", "(no resource)", "any", "*")
        for one in types:
            if one["type"] == _CREATING.get(action):
                yield dataclasses.replace(_somebodys(one), kind=f"new {one['type']}", whose=OWN)
                continue
            yield from self._by_type.get(one["type"], [_somebodys(one)])


def _somebodys(type: dict[str, str]) -> Thing:
    """For kinds of things that Belay has none of: one that is somebody else's."""
    known = {"Partition": "aws", "Region": REGION, "Account": ACCOUNT}
    arn = re.sub(r"\$\{(\w+)\}", lambda match: known.get(match[1], "somebodys"), type["arn"])
    return Thing(type["type"], type["type"], FOREIGN, arn)


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
    with tempfile.TemporaryDirectory() as folder:
        matrix = Matrix(Assembly(synth(Path(folder))))
        GOLDEN.write_text(matrix.written_out())
        print(f"written: {GOLDEN.name}; {figures(matrix)}")


if __name__ == "__main__":
    main()
