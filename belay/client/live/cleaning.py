"""What a live run leaves: removed, or named with the command that removes it."""

from typing import Any

from belay.aws import backend, scratch
from belay.aws.deployment import Clients
from belay.client.reading import Run
from belay.contract import tags
from belay.contract.deployment import Deployment

_MOST_IN_ONE_CALL = 1000


def remove_objects(s3: Any, bucket: str, prefix: str) -> None:
    """Every version: the bucket keeps those that are only deleted."""
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket, Prefix=prefix):
        found = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        objects = [{"Key": one["Key"], "VersionId": one["VersionId"]} for one in found]
        for begin in range(0, len(objects), _MOST_IN_ONE_CALL):
            part = objects[begin : begin + _MOST_IN_ONE_CALL]
            s3.delete_objects(Bucket=bucket, Delete={"Objects": part, "Quiet": True})


def file_systems_of(clients: Clients, run: Run | None, known: str | None) -> list[str]:
    """By its tags, and the one that the run's history names: tags may be listed late."""
    fsx = clients("fsx")
    tagged = scratch.tagged(fsx, {tags.RUN: run.prefix.run}) if run else []
    named = scratch.by_id(fsx, known) if known else None
    return sorted({one.id for one in (*tagged, named) if one})


def clean(clients: Clients, deployment: Deployment, run: Run | None, data_prefix: str, *, known: str | None) -> None:
    """The data, and what training saved; while a file system is there, that may be its only copy that is proven.

    The run's own small documents stay, as its execution does: the sweep asks for the certificate of each run that
    ended badly, and 'belay status' shows it.
    """
    s3, bucket = clients("s3"), deployment.bucket
    if file_systems_of(clients, run, known):
        return
    remove_objects(s3, bucket, data_prefix)
    if run is not None:
        remove_objects(s3, bucket, run.prefix.checkpoints)
        remove_objects(s3, bucket, f"{run.prefix.root}events/")


def left_of(
    clients: Clients, deployment: Deployment, run: Run | None, data_prefix: str, *, known: str | None
) -> list[str]:
    """What is still there, each with what removes it."""
    s3, bucket = clients("s3"), deployment.bucket
    prefixes = [data_prefix]
    left = [f"file system {one}: belay sweep" for one in file_systems_of(clients, run, known)]
    if run is not None:
        name = run.prefix.run
        tasks = backend.of_deployment(clients, deployment).tasks_of(name)
        left += [f"a task of run {name}: belay kill {name}" for one in tasks if one.may_write]
        prefixes += [run.prefix.checkpoints, f"{run.prefix.root}events/"]
    for prefix in prefixes:
        page = s3.list_object_versions(Bucket=bucket, Prefix=prefix, MaxKeys=1)
        if page.get("Versions") or page.get("DeleteMarkers"):
            left.append(f"objects under {prefix}: aws s3 rm --recursive s3://BUCKET/{prefix}")
    return left
