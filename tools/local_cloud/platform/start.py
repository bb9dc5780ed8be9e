"""ministack reads its settings while it is imported: they are set here, first."""

from __future__ import annotations

import os
import tempfile
import time

from tools.local_cloud.settings import ACCOUNT, REGION, Settings


def prepare(settings: Settings) -> None:
    """Sets what ministack and everything it starts will read. Must run before ministack is imported."""
    for name in [name for name in os.environ if name.startswith(("AWS_", "BELAY_", "PYTHON"))]:
        # Lambdas inherit this environment, and must see only their own settings.
        del os.environ[name]
    if settings.new_account:
        # "New AWS accounts have reduced concurrency and memory quotas" (Lambda guide, "Lambda quotas"). How small they
        # are is not said there; many have met 10: github.com/DataDog/datadog-serverless-functions/pull/621.
        os.environ["LAMBDA_ACCOUNT_CONCURRENCY"] = "10"
    os.environ.update(
        GATEWAY_PORT=str(settings.port),
        BIND_HOST="127.0.0.1",
        MINISTACK_HOST="localhost",
        MINISTACK_ACCOUNT_ID=ACCOUNT,
        MINISTACK_REGION=REGION,
        AUTH="true",
        IOT_MTLS_ENABLED="0",
        SFTP_ENABLED="0",
        LAMBDA_EXECUTOR="local",
        LOG_LEVEL=os.environ.get("LOG_LEVEL", "WARNING"),
        TMPDIR=str(settings.scratch),
        TZ="UTC",  # As in AWS; the interpreter compares naive times.
    )
    time.tzset()
    tempfile.tempdir = str(settings.scratch)
