"""Linking folders of a file system with prefixes of buckets."""

from __future__ import annotations

from botocore.exceptions import BotoCoreError, ClientError

from local_cloud.faults import LinkFails
from local_cloud.services.fsx import rules
from local_cloud.services.fsx.imports import import_objects
from local_cloud.services.fsx.model import Association, FileSystem, Wire
from local_cloud.services.fsx.store import Store, named, new_id, shown, tags_of
from local_cloud.services.fsx.tokens import Tokens
from local_cloud.services.refusal import NotBuilt

MISSING = "DataRepositoryAssociationNotFound"
FILTERS = {"file-system-id": "FileSystemId", "data-repository-type": "DataRepositoryType"}


class Associations:
    """The data repository association operations."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._tokens: Tokens[Association] = Tokens()

    def create(self, request: Wire) -> Wire:
        with self._store.lock:
            made = self._tokens.made(request)
            if made is None:
                made = self._new(request)
                self._tokens.remember(request, made)
            return {"Association": made.describe()}

    def _new(self, request: Wire) -> Association:
        owner = self._store.available(request.get("FileSystemId"))
        others = self._store.links(owner.id)
        rules.check_association(request, kind=owner.deployment_type, version=owner.version, others=others)
        folder, bucket, prefix = rules.parse_paths(request)
        made = Association(
            id=new_id("dra"),
            file_system_id=owner.id,
            folder=folder,
            bucket=bucket,
            prefix=prefix,
            request=request,
            created_at=self._store.clock.now(),
            tags=tags_of(request),
        )
        self._store.associations[made.id] = made
        self._store.clock.after(self._store.delays.create_association, lambda: self._link(owner, made))
        return made

    def _link(self, owner: FileSystem, link: Association) -> None:
        if owner.lifecycle != "AVAILABLE" or link.lifecycle != "CREATING":
            return  # Deleted meanwhile.
        try:
            failure = self._bring_in(owner, link)
        except (BotoCoreError, ClientError) as error:
            failure = f"FSx cannot import from the bucket {link.bucket}: {error}"
        with self._store.lock:
            link.failure = failure
            link.lifecycle = "MISCONFIGURED" if failure else "AVAILABLE"

    def _bring_in(self, owner: FileSystem, link: Association) -> str | None:
        refused = self._store.faults.find(LinkFails, owner.tags)
        if refused or not self._store.repository.reachable(link.bucket):
            return f"FSx cannot access the bucket {link.bucket}."
        (owner.root / link.folder).mkdir(parents=True, exist_ok=True)
        if link.request.get("BatchImportMetaDataOnCreate"):
            import_objects(owner, link, self._store.repository)
        return None

    def describe(self, request: Wire) -> Wire:
        with self._store.lock:
            found = named(self._store.associations, request.get("AssociationIds"), missing=MISSING)
            return shown("Associations", (one.describe() for one in found), request, filters=FILTERS)

    def delete(self, request: Wire) -> Wire:
        with self._store.lock:
            (found,) = named(self._store.associations, [request.get("AssociationId", "")], missing=MISSING)
            if request.get("DeleteDataInFileSystem"):
                raise NotBuilt("FSx DeleteDataInFileSystem")
            found.lifecycle = "DELETING"
            self._store.clock.after(self._store.delays.delete_association, lambda: self._forget(found))
            return {"AssociationId": found.id, "Lifecycle": "DELETING", "DeleteDataInFileSystem": False}

    def _forget(self, gone: Association) -> None:
        with self._store.lock:
            self._store.associations.pop(gone.id, None)
