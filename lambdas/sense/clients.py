"""AWS clients: made once in a container's life, and never left waiting for ever."""

from functools import cache
from typing import Any

import boto3
from botocore.config import Config

# One connection for each thread that asks S3 about a checkpoint's files.
CONNECTIONS = 16

_CONFIG = Config(
    connect_timeout=3,
    read_timeout=20,
    retries={"mode": "standard", "max_attempts": 5},
    max_pool_connections=CONNECTIONS,
)


@cache
def client(service: str) -> Any:
    return boto3.client(service, config=_CONFIG)


def error_code(error: Exception) -> str:
    """The service's own name for what went wrong, of a botocore ClientError."""
    return str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))
