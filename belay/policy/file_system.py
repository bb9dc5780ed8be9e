"""A scratch file system, as its tags and its lifecycle describe it."""

from dataclasses import dataclass
from datetime import datetime

from belay.contract import tags
from belay.policy.phases import Reading


@dataclass(frozen=True)
class FileSystem:
    id: str
    arn: str
    tags: dict[str, str]
    reading: Reading
    created_at: datetime
    dns_name: str | None
    mount_name: str | None

    @property
    def state(self) -> str:
        """Without the tag nothing is proven, so it counts as holding work."""
        return self.tags.get(tags.STATE, tags.State.IN_USE)
