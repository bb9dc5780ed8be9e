"""A recording: all that a later version must be able to go on with, as one version left it."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.proofs.model.system import System
from tools.proofs.upgrade.values import from_json, to_json

FOLDER = Path(__file__).parent / "recordings"
# The gate has the last versions.
KEPT = 2


@dataclass(frozen=True)
class Suspended:
    """A run at the moment of a deployment. `ends`: how it ended without one, for each way in which it may go on."""

    at: str
    system: System
    ends: dict[str, str]


@dataclass(frozen=True)
class Recording:
    """`code`: the Lambdas', by path. `lines`: what the trainer of that version writes, by what this model calls it.
    `documents`: of each kind one that runs leave. `calls`: every AWS call of its roles (tools/proofs/permissions).
    """

    version: str
    messages_version: int
    definitions: dict[str, Any]
    code: dict[str, str]
    calls: list[dict[str, Any]]
    lines: dict[str, str]
    documents: dict[str, list[Any]]
    suspended: list[Suspended]

    def write(self) -> Path:
        FOLDER.mkdir(exist_ok=True)
        path = FOLDER / f"{self.version}.json.gz"
        held = {**vars(self), "suspended": [{**vars(one), "system": to_json(one.system)} for one in self.suspended]}
        # Without the time of writing, so that the same recording is the same file.
        path.write_bytes(gzip.compress(json.dumps(held).encode(), mtime=0))
        return path


def read(path: Path) -> Recording:
    held = json.loads(gzip.decompress(path.read_bytes()))
    suspended = [Suspended(one["at"], from_json(one["system"]), one["ends"]) for one in held.pop("suspended")]
    return Recording(**held, suspended=suspended)


def last_versions() -> list[Recording]:
    """The newest last."""
    return [read(path) for path in sorted_by_version(FOLDER)[-KEPT:]]


def sorted_by_version(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.json.gz"), key=lambda path: _numbers(path.name))


def _numbers(name: str) -> list[int]:
    return [int(part) for part in name.removesuffix(".json.gz").split(".")]
