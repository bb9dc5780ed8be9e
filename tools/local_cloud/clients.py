"""boto3 clients of the local cloud, made once for each service and identity."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config

from tools.local_cloud.settings import ACCESS_KEY, REGION, SECRET_KEY


@dataclass(frozen=True)
class Identity:
    """Who signs a request."""

    access_key: str
    secret_key: str
    session_token: str | None = None


# In the user agent of what one of our services asks another: AWS's do not call each other through the public APIs.
_OUR_OWN = "belay-local-cloud-itself"
ROOT = Identity(access_key=ACCESS_KEY, secret_key=SECRET_KEY)
# SDKs put "sync-" before the host of some calls, as TestState: no such name leads to this machine.
_CONFIG = Config(retries={"total_max_attempts": 3}, max_pool_connections=64, inject_host_prefix=False)


def of_the_cloud_itself() -> Config:
    """For clients inside the server, which no rate holds up."""
    return Config(retries={"total_max_attempts": 3}, max_pool_connections=64, user_agent_extra=_OUR_OWN)


def is_our_own(headers: Mapping[str, str]) -> bool:
    return _OUR_OWN in headers.get("user-agent", "")


class Clients:
    """A cache: a client costs about 100 ms and some megabytes, and it is thread safe."""

    def __init__(self, *, endpoint: str, config: Config | None = None) -> None:
        self._endpoint = endpoint
        self._config = config or _CONFIG
        self._lock = threading.Lock()
        self._made: dict[tuple[str, Identity], Any] = {}
        self.on_made: Callable[[Any], None] = lambda client: None

    def get(self, service: str, *, identity: Identity = ROOT) -> Any:
        """The client of one service for one identity."""
        key = (service, identity)
        with self._lock:
            if key not in self._made:
                self._made[key] = self._make(service, identity)
            return self._made[key]

    def _make(self, service: str, identity: Identity) -> Any:
        client = boto3.session.Session().client(
            service,
            region_name=REGION,
            endpoint_url=self._endpoint,
            aws_access_key_id=identity.access_key,
            aws_secret_access_key=identity.secret_key,
            aws_session_token=identity.session_token,
            config=self._config,
        )
        self.on_made(client)
        return client
