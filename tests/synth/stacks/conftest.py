"""The same stacks with other settings. Each is one more synth of seconds, so they are few and shared."""

import pytest

from tests.support.deployments import EXISTING_DEPLOYMENT, EXISTING_NETWORK, PRIVATE_DEPLOYMENT
from tools.definitions.synth import synth_once
from tools.definitions.templates import Assembly


@pytest.fixture(scope="session")
def private(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Under another name, in a zone of choice, and without internet."""
    return Assembly(
        synth_once(
            tmp_path_factory,
            "private",
            deployment=PRIVATE_DEPLOYMENT,
            network="private",
            availability_zone="us-east-1c",
        )
    )


@pytest.fixture(scope="session")
def existing(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """Under a third name, in a VPC that is already there, and with what else can be set."""
    return Assembly(
        synth_once(
            tmp_path_factory,
            "existing",
            deployment=EXISTING_DEPLOYMENT,
            network=EXISTING_NETWORK,
            dataset_buckets=["corpora", "images"],
            log_retention_days=365,
            customer_key=True,
            audit=True,
            run_task_token=False,
            notice_email="someone@example.com",
        )
    )
