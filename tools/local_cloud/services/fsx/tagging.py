"""Tags of file systems, associations and tasks."""

from __future__ import annotations

from typing import Any

from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.services.fsx.model import FileSystem, Resource, Wire, tag_list
from tools.local_cloud.services.fsx.rules import MOST_TAGS, bad
from tools.local_cloud.services.fsx.store import Store, shown, tags_of


class Tagging:
    """The tag operations."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def tag(self, request: Wire) -> Wire:
        with self._store.lock:
            found = self._resource(request["ResourceARN"])
            before, after = dict(found.tags), {**found.tags, **tags_of(request)}
            if len(after) > MOST_TAGS:  # [?] The model has the limit for each request.
                raise bad(f"A resource has at most {MOST_TAGS} tags.")
            found.tags.update(after)
            if isinstance(found, FileSystem):
                self._store.show_tags_late(found, shown=before)
            return {}

    def untag(self, request: Wire) -> Wire:
        with self._store.lock:
            tags = self._resource(request["ResourceARN"]).tags
            for key in request["TagKeys"]:
                tags.pop(key, None)
            return {}

    def list(self, request: Wire) -> Wire:
        with self._store.lock:
            return shown("Tags", tag_list(self._resource(request["ResourceARN"]).tags), request, filters={})

    def _resource(self, arn: Any) -> Resource:
        for one in self._store.resources():
            if one.arn == arn:
                return one
        raise AwsError("ResourceNotFound", f"The resource {arn} does not exist.")
