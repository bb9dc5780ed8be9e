"""Tags of file systems, associations and tasks."""

from __future__ import annotations

from typing import Any

from local_cloud.services.fsx.model import Wire, tag_list
from local_cloud.services.fsx.store import Store, shown, tags_of
from local_cloud.services.refusal import Refused


class Tagging:
    """The tag operations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def tag(self, request: Wire) -> Wire:
        with self._store.lock:
            self._tags(request.get("ResourceARN")).update(tags_of(request))
            return {}

    def untag(self, request: Wire) -> Wire:
        with self._store.lock:
            tags = self._tags(request.get("ResourceARN"))
            for key in request.get("TagKeys", []):
                tags.pop(key, None)
            return {}

    def list(self, request: Wire) -> Wire:
        with self._store.lock:
            return shown("Tags", tag_list(self._tags(request.get("ResourceARN"))), request, filters={})

    def _tags(self, arn: Any) -> dict[str, str]:
        for one in self._store.resources():
            if one.arn == arn:
                return one.tags
        raise Refused("ResourceNotFound", f"The resource {arn} does not exist.")
