"""Linking folders of a file system with prefixes of buckets."""

from __future__ import annotations

from tools.local_cloud.faults import LinkFails
from tools.local_cloud.services.errors import NotSupported
from tools.local_cloud.services.fsx import link_rules
from tools.local_cloud.services.fsx.imports import Imports
from tools.local_cloud.services.fsx.model import Association, FileSystem, Wire
from tools.local_cloud.services.fsx.rules import bad
from tools.local_cloud.services.fsx.store import Filters, Store, named, new_id, shown, tags_of
from tools.local_cloud.services.fsx.tokens import Tokens

MISSING = "DataRepositoryAssociationNotFound"
_LOOK_AGAIN_SECONDS = 20
# Every repository here is one of S3, and no file system is a cache. The other names of the model's enum are not for
# associations (botocore's model, DescribeDataRepositoryAssociations).
FILTERS: Filters = {
    "file-system-id": lambda link: link["FileSystemId"],
    "data-repository-type": lambda _link: "S3",
    "file-cache-id": lambda _link: None,
}


class Associations:
    """The data repository association operations."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._imports = Imports(store)
        self._tokens: Tokens[Association] = Tokens()

    def create(self, request: Wire) -> Wire:
        with self._store.lock:
            made = self._tokens.once(request, self._new)
            return {"Association": made.describe()}

    def _new(self, request: Wire) -> Association:
        owner = self._store.available(request.get("FileSystemId"))
        others = self._store.links(owner.id)
        link_rules.check_association(request, owner=owner, others=others)
        folder, bucket, prefix = link_rules.parse_paths(request)
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
        """ "Amazon FSx only works on one request at a time, and queues up to 8" (FSx for Lustre guide, "Linking your
        file system to an S3 bucket"). Beside a request for another bucket, some have failed, with a reason that was not
        true (github.com/hashicorp/terraform-provider-aws/issues/24678): here all do."""
        with self._store.lock:
            if owner.lifecycle != "AVAILABLE" or link.lifecycle != "CREATING":
                return  # Deleted meanwhile.
            others = [one for one in self._store.links(owner.id) if one.lifecycle == "CREATING" and one is not link]
            if any(one.bucket != link.bucket for one in others):
                link.lifecycle, link.failure = "FAILED", f"FSx cannot access the bucket {link.bucket}."
                return
            if any(one.created_at < link.created_at for one in others):
                self._store.clock.after(_LOOK_AGAIN_SECONDS, lambda: self._link(owner, link))
                return
        fault = self._store.faults.take(LinkFails, owner.tags)
        refused = fault or not self._store.repository.reachable(link.bucket)
        (owner.root / link.folder).mkdir(parents=True, exist_ok=True)
        with self._store.lock:
            link.failure = f"FSx cannot access the bucket {link.bucket}." if refused else None
            link.lifecycle = (fault.lifecycle if fault else "MISCONFIGURED") if refused else "AVAILABLE"
        if not refused and link.request.get("BatchImportMetaDataOnCreate"):
            # "After the data repository association is created" (API reference): nothing says how soon.
            self._store.clock.after(self._store.delays.list_import, lambda: self._imports.begin(owner, link))

    def describe(self, request: Wire) -> Wire:
        with self._store.lock:
            found = named(self._store.associations, request.get("AssociationIds"), missing=MISSING)
            return shown("Associations", (one.describe() for one in found), request, filters=FILTERS)

    def delete(self, request: Wire) -> Wire:
        with self._store.lock:
            (found,) = named(self._store.associations, [request["AssociationId"]], missing=MISSING)
            if request.get("DeleteDataInFileSystem"):
                raise NotSupported("FSx DeleteDataInFileSystem")
            # [?] Documented for file systems, whose deletion a task in progress makes a BadRequest.
            if busy := self._store.active_task(found.file_system_id):
                raise bad(f"Association {found.id} has a data repository task in progress: {busy.id}.")
            found.lifecycle = "DELETING"
            self._store.clock.after(self._store.delays.delete_association, lambda: self._forget(found))
            return {"AssociationId": found.id, "Lifecycle": "DELETING", "DeleteDataInFileSystem": False}

    def _forget(self, gone: Association) -> None:
        with self._store.lock:
            self._store.associations.pop(gone.id, None)
