"""What an account may have of FSx."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.services.fsx.model import FileSystem
from tools.local_cloud.services.quotas import SCRATCH_FILE_SYSTEMS, SCRATCH_STORAGE_GIB


@dataclass(frozen=True)
class Quotas:
    """`value_of`: what Service Quotas says. It has the same defaults for scratch and for persistent file systems; here
    those of scratch hold for each kind."""

    value_of: Callable[[str], float]

    def check(self, new: FileSystem, present: Iterable[FileSystem]) -> None:
        """Refuses the file system that would be too many. One that failed or is being deleted still counts [?]."""
        same = [one for one in present if one.is_scratch == new.is_scratch]
        most, most_gib = self.value_of(SCRATCH_FILE_SYSTEMS), self.value_of(SCRATCH_STORAGE_GIB)
        if len(same) >= most:
            raise _exceeded(f"at most {most:.0f} file systems", "FILE_SYSTEM_COUNT")
        if sum(one.storage_gib for one in [*same, new]) > most_gib:
            raise _exceeded(f"at most {most_gib:.0f} GiB of storage", "TOTAL_STORAGE")


def _exceeded(what: str, limit: str) -> AwsError:
    return AwsError("ServiceLimitExceeded", f"This account may have {what} of this kind. Limit: {limit}")
