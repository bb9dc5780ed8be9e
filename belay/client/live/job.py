"""The job of a live run, the data that it reads, and what it costs."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from belay.contract.deployment import Deployment
from belay.contract.job import Job
from belay.contract.paths import DATA_LINK
from belay.policy.prices import rates_of

NAME = "belay-doctor"
PREFIX = "datasets/belay-doctor/"
# Small enough for any instance that can hold the image.
_MEMORY = "4GiB"
_LARGE_BYTES = 16 * 1024 * 1024
_INSPECTION = Path(__file__).with_name("inspection.py")
# With the usual times of AWS: file system and links 20 minutes, training 5, export and deletion 10. Two instances are
# started, and each ends after a quarter of an hour without work (docs/cost.md).
MINUTES = 35
_INSTANCE_HOURS = 2 * 0.5


def data_files() -> Iterator[tuple[str, bytes]]:
    """A few small files, and one that is read past the page cache before anything else has read it."""
    yield "inspection.py", _INSPECTION.read_bytes()
    yield "large.bin", _large()
    for number in range(3):
        yield f"small/{number}.txt", f"{number}\n".encode()


def job_of(prefix: str) -> dict[str, Any]:
    digest = hashlib.sha256(_large()).hexdigest()
    return {
        "name": NAME,
        "dataset": {"s3": prefix},
        "train": {"command": [f"{DATA_LINK.strip('/')}/inspection.py", digest]},
        "resources": {"gpus": 0, "cpus": 1, "memory": _MEMORY},
        "checkpoint": {"every": "10 steps", "keep": 3},
        # The inspection waits in the middle of its training until an export is done.
        "limits": {"scratch": "1h", "link": "1h", "capacity": "1h", "train": "30m", "export": "1h", "hang": "20m"},
        "retry": {"capacity": 0, "interruption": 0, "crash": 0},
        "resume": "never",
    }


def expected_usd(deployment: Deployment) -> float | None:
    """None: the deployment does not know a price."""
    rates = rates_of(Job.model_validate(job_of(PREFIX)), deployment.prices)
    if rates.instance_usd_per_hour is None or rates.file_system_usd_per_hour is None:
        return None
    return rates.file_system_usd_per_hour * MINUTES / 60 + rates.instance_usd_per_hour * _INSTANCE_HOURS


def _large() -> bytes:
    """The same each time, and no run of zeros."""
    return b"".join(hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(_LARGE_BYTES // 32))
