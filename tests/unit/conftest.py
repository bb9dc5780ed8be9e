import os
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

# Read when the handlers are imported.
os.environ |= {"POWERTOOLS_SERVICE_NAME": "belay", "POWERTOOLS_TRACE_DISABLED": "true", "POWERTOOLS_LOG_LEVEL": "ERROR"}

from moto import mock_aws

from belay.aws import clients, clock
from tools.proofs.fakes.fake import Fake
from tools.proofs.fakes.world import BUCKET, LOG_GROUP, NOTICES, TEARDOWN, TRAIN, World


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    settings = {
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",  # pragma: allowlist secret
        "BELAY_BUCKET": BUCKET,
        "BELAY_DEPLOYMENT": "belay",
        "BELAY_INSTANCE_TYPE": "g6.xlarge",
        "BELAY_DATASET_BUCKETS": "shared-data, lab-data",
        "BELAY_CLUSTER": "belay",
        "BELAY_TRAINER_FAMILY": "belay-trainer",
        "BELAY_TRAINER_LOG_GROUP": LOG_GROUP,
        "BELAY_LOG_CALLS_PER_SECOND": "1000",
        "BELAY_TRAIN_MACHINE_ARN": TRAIN,
        "BELAY_TEARDOWN_MACHINE_ARN": TEARDOWN,
        "BELAY_NOTICES_TOPIC_ARN": NOTICES,
        "BELAY_REREAD_GIB_A_DAY": "1",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    # The clients stay, as they do in a warm Lambda: making them takes longer than any test.
    with mock_aws(), ExitStack() as stack:
        world = World(clients.client("s3"))
        clients.client("sns").create_topic(Name=NOTICES.rpartition(":")[2])
        services: dict[str, Fake] = {
            "fsx": world.fsx,
            "ecs": world.ecs,
            "stepfunctions": world.states,
            "logs": world.logs,
            "ec2": world.ec2,
            "service-quotas": world.quotas,
        }
        for name, fake in services.items():
            stack.enter_context(fake.answering(clients.client(name)))
        monkeypatch.setattr(clock, "now", lambda: world.now)
        yield world
