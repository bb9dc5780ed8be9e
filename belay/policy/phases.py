"""Every lifecycle of FSx in four words. One that AWS adds later is a failure that names it, never a guess."""

from collections.abc import Mapping
from dataclasses import dataclass

from belay.contract.messages.probes import Phase


@dataclass(frozen=True)
class Reading:
    phase: Phase
    reason: str


FILE_SYSTEM = {
    "CREATING": Phase.PENDING,
    "AVAILABLE": Phase.READY,
    "UPDATING": Phase.READY,
    # Still there until FSx has forgotten it: a poll for its end asks again.
    "DELETING": Phase.PENDING,
    "FAILED": Phase.FAILED,
    "MISCONFIGURED": Phase.FAILED,
    "MISCONFIGURED_UNAVAILABLE": Phase.FAILED,
}

LINK = {
    "CREATING": Phase.PENDING,
    "AVAILABLE": Phase.READY,
    "UPDATING": Phase.PENDING,
    # Still there until FSx has forgotten it.
    "DELETING": Phase.PENDING,
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


def of_file_system(lifecycle: str, detail: str = "") -> Reading:
    return read(FILE_SYSTEM, "the file system", lifecycle, detail)


def of_link(lifecycle: str, detail: str = "") -> Reading:
    return read(LINK, "a link to S3", lifecycle, detail)


def of_export(lifecycle: str, detail: str = "") -> Reading:
    return read(EXPORT, "the export task", lifecycle, detail)


def of_import(lifecycle: str, detail: str = "") -> Reading:
    """A task as an export is; training on half of its data would be worse than none."""
    return read(EXPORT, "the import of names and sizes from S3", lifecycle, detail)


def of_linked(link: Reading, imports: list[Reading]) -> Reading:
    """A link is ready when the import task that came with it has ended well: until then names are missing.

    FSx lists the task some time after the association is there, so that none is listed means to wait.
    """
    if link.phase is not Phase.READY:
        return link
    failed = next((one for one in imports if one.phase is Phase.FAILED), None)
    if failed:
        return failed
    if any(one.phase is Phase.READY for one in imports):
        return link
    return imports[0] if imports else Reading(Phase.PENDING, "the import of names and sizes from S3 is not listed yet")


def read(words: Mapping[str, Phase], what: str, lifecycle: str, detail: str) -> Reading:
    phase = words.get(lifecycle)
    if phase is None:
        return Reading(Phase.FAILED, f"{what} is {lifecycle!r}, a state that Belay does not know")
    return Reading(phase, f"{what} is {lifecycle}" + (f": {detail}" if detail else ""))
