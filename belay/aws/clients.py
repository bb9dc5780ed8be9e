"""AWS clients: made once in a container's life, and never left waiting for ever."""

from functools import cache
from typing import Any

import boto3
from botocore.config import Config

# So many threads ask S3 about a checkpoint's files.
CONNECTIONS = 16

_CONFIG = Config(
    connect_timeout=3,
    read_timeout=20,
    retries={"mode": "standard", "max_attempts": 5},
    # The pump compares the checkpoints of several runs at once.
    max_pool_connections=4 * CONNECTIONS,
)
# A run is accepted without their answer too. If neither answers, accept still has half of its minute.
_OPTIONAL = ("ec2", "service-quotas")
_OPTIONAL_CONFIG = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "max_attempts": 2})


@cache
def client(service: str) -> Any:
    return boto3.client(service, config=_OPTIONAL_CONFIG if service in _OPTIONAL else _CONFIG)


def error_code(error: Exception) -> str:
    """The service's own name for what went wrong, of a botocore ClientError."""
    return str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))
