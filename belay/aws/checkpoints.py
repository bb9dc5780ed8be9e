"""Is a checkpoint in S3 whole? Its manifest says what must be there; S3 says what is."""

from collections.abc import Iterable
from concurrent.futures import Executor

from botocore.exceptions import ClientError
from pydantic import ValidationError

from belay.aws import crc64nvme
from belay.aws.bucket import Bucket, Stored
from belay.contract.ledger import Proof
from belay.contract.manifest import Manifest, ManifestFile
from belay.contract.paths import MANIFEST, RunPrefix, checkpoint_step
from belay.policy.ledgers import Finding

# A manifest of a hundred thousand files has about 10 MB. More than this is no manifest.
_MOST_MANIFEST_BYTES = 32 * 1024 * 1024
_MOST_FAULTS_NAMED = 3


Objects = dict[str, Stored]
"""What lies in one checkpoint's folder, by its path there."""


def stored(bucket: Bucket, prefix: RunPrefix) -> dict[int, Objects]:
    """Everything under the run's checkpoints, by step."""
    by_step: dict[int, Objects] = {}
    for one in bucket.listing(prefix.checkpoints):
        folder, _, path = one.key.removeprefix(prefix.checkpoints).partition("/")
        step = checkpoint_step(folder)
        if step is not None and path:
            by_step.setdefault(step, {})[path] = one
    return by_step


def stored_of(bucket: Bucket, prefix: RunPrefix, step: int) -> Objects:
    folder = prefix.checkpoint(step)
    return {one.key.removeprefix(folder): one for one in bucket.listing(folder)}


def steps_of(bucket: Bucket, prefix: RunPrefix) -> list[int]:
    """The steps that have a folder in S3, whole or not, highest first."""
    steps = (checkpoint_step(folder) for folder in bucket.folders(prefix.checkpoints))
    return sorted((step for step in steps if step is not None), reverse=True)


def prove(bucket: Bucket, step: int, objects: Objects, pool: Executor, *, save: str | None = None) -> Finding:
    """Compare every file with the manifest. `save` is the checksum of the manifest that the trainer said it wrote."""
    found = objects.get(MANIFEST)
    if found is None:
        return Finding(step, "no manifest in S3", manifest_crc64nvme=save)
    if found.bytes > _MOST_MANIFEST_BYTES:
        return Finding(step, f"its manifest has {found.bytes} bytes, too many to be one", manifest_crc64nvme=save)
    document = bucket.read(found.key)
    if document is None:
        return Finding(step, "its manifest was removed from S3 while we looked", manifest_crc64nvme=save)
    identity = crc64nvme.of(document.body)
    if save is not None and identity != save:
        # The run fell back and saved this step again: what S3 holds is the earlier save, whole as it may be.
        return Finding(step, "S3 holds another save of this step", manifest_crc64nvme=save)
    try:
        manifest = Manifest.model_validate_json(document.body)
    except ValidationError:
        return Finding(step, "its manifest cannot be read", manifest_crc64nvme=identity)
    if manifest.step != step:
        return Finding(step, f"its manifest is of step {manifest.step}", manifest_crc64nvme=identity)

    problem, proof = _compare(bucket, manifest.files, objects, pool)
    present = [objects[file.path] for file in manifest.files if file.path in objects]
    return Finding(
        step,
        problem,
        manifest_crc64nvme=identity,
        written_at=manifest.committed_at,
        exported_at=max(one.modified for one in [found, *present]),
        files=len(manifest.files),
        bytes=manifest.total_bytes,
        proof=proof,
    )


def _compare(
    bucket: Bucket, files: list[ManifestFile], objects: Objects, pool: Executor
) -> tuple[str | None, Proof | None]:
    wrong_sizes = [fault for file in files if (fault := _size_fault(file, objects.get(file.path)))]
    if wrong_sizes:
        return _sentence(wrong_sizes), None
    try:
        checksums = list(pool.map(lambda file: bucket.checksum(objects[file.path].key), files))
    except ClientError as error:
        if error.response["Error"]["Code"] != "404":
            raise
        return "a file was removed from S3 while we looked", None
    other_bytes = [
        f"{file.path} has other content than was saved"
        for file, checksum in zip(files, checksums, strict=True)
        if checksum.crc64nvme not in (None, file.crc64nvme)
    ]
    if other_bytes:
        return _sentence(other_bytes), None
    # Which checksum FSx gives to what it uploads is not documented. Without one of the whole object the size is all
    # there is to compare, and the record says so.
    weakest = Proof.CRC64NVME if all(one.crc64nvme for one in checksums) else Proof.SIZE_ONLY
    return None, weakest


def _size_fault(file: ManifestFile, one: Stored | None) -> str | None:
    if one is None:
        return f"{file.path} is missing"
    if one.bytes != file.bytes:
        return f"{file.path} has {one.bytes} of {file.bytes} bytes"
    return None


def _sentence(faults: Iterable[str]) -> str:
    named = list(faults)
    rest = len(named) - _MOST_FAULTS_NAMED
    return "; ".join(named[:_MOST_FAULTS_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
