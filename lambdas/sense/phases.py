"""Every lifecycle of FSx and ECS in four words. One that AWS adds later is a failure that names it, never a guess."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    PENDING = "pending"
    READY = "ready"
    GONE = "gone"
    FAILED = "failed"


@dataclass(frozen=True)
class Reading:
    phase: Phase
    reason: str


FILE_SYSTEM = {
    "CREATING": Phase.PENDING,
    "AVAILABLE": Phase.READY,
    "UPDATING": Phase.READY,
    # Still there until FSx has forgotten it: whoever waits for its end asks again.
    "DELETING": Phase.PENDING,
    "FAILED": Phase.FAILED,
    "MISCONFIGURED": Phase.FAILED,
    "MISCONFIGURED_UNAVAILABLE": Phase.FAILED,
}

LINK = {
    "CREATING": Phase.PENDING,
    "AVAILABLE": Phase.READY,
    "UPDATING": Phase.PENDING,
    "DELETING": Phase.GONE,
    "MISCONFIGURED": Phase.FAILED,
    "FAILED": Phase.FAILED,
}

EXPORT = {
    "PENDING": Phase.PENDING,
    "EXECUTING": Phase.PENDING,
    # It still holds the file system's only place for a task.
    "CANCELING": Phase.PENDING,
    "SUCCEEDED": Phase.READY,
    "FAILED": Phase.FAILED,
    "CANCELED": Phase.FAILED,
}

# A task on its way out is still alive: until STOPPED, it may be saving a last checkpoint.
TASK = {
    "PROVISIONING": Phase.PENDING,
    "PENDING": Phase.PENDING,
    "ACTIVATING": Phase.PENDING,
    "RUNNING": Phase.READY,
    "DEACTIVATING": Phase.READY,
    "STOPPING": Phase.READY,
    "DEPROVISIONING": Phase.READY,
    "STOPPED": Phase.GONE,
    "DELETED": Phase.GONE,
}


def of_file_system(lifecycle: str, detail: str = "") -> Reading:
    return _read(FILE_SYSTEM, "the file system", lifecycle, detail)


def of_link(lifecycle: str, detail: str = "") -> Reading:
    return _read(LINK, "a link to S3", lifecycle, detail)


def of_export(lifecycle: str, detail: str = "") -> Reading:
    return _read(EXPORT, "the export task", lifecycle, detail)


def of_import(lifecycle: str, detail: str = "") -> Reading:
    """A task as an export is; training on half of its data would be worse than none."""
    return _read(EXPORT, "the import of names and sizes from S3", lifecycle, detail)


def of_task(lifecycle: str) -> Reading:
    return _read(TASK, "the training task", lifecycle, "")


def of_links(links: list[Reading], *, expected: int) -> Reading:
    """Ready only together: training reads through one link and saves through another."""
    for phase in (Phase.FAILED, Phase.GONE, Phase.PENDING):
        worst = next((link for link in links if link.phase is phase), None)
        if worst:
            return worst
    if len(links) < expected:
        return Reading(Phase.PENDING, f"{len(links)} of {expected} links to S3 are there")
    return Reading(Phase.READY, f"all {len(links)} links to S3 are there")


def of_imports(imports: list[Reading]) -> Reading | None:
    """The one that training has to wait for, or cannot begin without."""
    wanting = [one for one in imports if one.phase is not Phase.READY]
    return next((one for one in wanting if one.phase is Phase.FAILED), wanting[0] if wanting else None)


def of_tasks(tasks: list[Reading]) -> Reading:
    """One word for a run's tasks: gone only when none of them can write any more."""
    for phase in (Phase.FAILED, Phase.READY, Phase.PENDING):
        first = next((task for task in tasks if task.phase is phase), None)
        if first:
            return first
    return Reading(Phase.GONE, "no training task is alive")


def _read(words: Mapping[str, Phase], what: str, lifecycle: str, detail: str) -> Reading:
    phase = words.get(lifecycle)
    if phase is None:
        return Reading(Phase.FAILED, f"{what} is {lifecycle!r}, a state that Belay does not know")
    return Reading(phase, f"{what} is {lifecycle}" + (f": {detail}" if detail else ""))
