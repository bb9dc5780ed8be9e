"""A new version is deployed while runs are alive: they go on with what they began with, or it is refused."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from belay.contract.deployment import Deployment, parameter_name
from belay.contract.messages import MESSAGES_VERSION
from belay.contract.verdict import Durability, Training
from tools.definitions.synth import synth
from tools.definitions.templates import Assembly
from tools.local_cloud.cloud import CloudFailed
from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed

CHANGED = "tests.synth.stacks.app_with_another_contract"


@pytest.fixture
def restored(deployed: Deployed, assembly: Assembly) -> Iterator[Deployed]:
    """Other tests find what they deployed."""
    yield deployed
    deployed.cloud.deploy(assembly.directory)


def app_with(into: Path, module: str, old: str, new: str) -> Path:
    return synth(into, program=("-m", CHANGED, module, old, new))


def asked(deployed: Deployed, execution: str) -> dict[str, str]:
    """The version of each Lambda that an execution asked."""
    pages = deployed.states.get_paginator("get_execution_history").paginate(executionArn=execution)
    calls = [
        one["taskScheduledEventDetails"]
        for page in pages
        for one in page["events"]
        if "taskScheduledEventDetails" in one
    ]
    names = [json.loads(call["parameters"])["FunctionName"] for call in calls if call["resourceType"] == "lambda"]
    return {name.split(":")[6]: name.split(":")[7] for name in names}


def test_a_run_keeps_its_lambdas_and_what_it_cannot_go_on_with_is_refused(restored: Deployed, tmp_path: Path) -> None:
    run = restored.start(digits("upgraded", steps=100_000, every="20 steps"))
    run.until_one_is_verified()
    number = f"MESSAGES_VERSION: Final = {MESSAGES_VERSION}"
    refused = app_with(tmp_path / "refused", "belay.contract.messages", number, f"{number}00")
    with pytest.raises(CloudFailed, match=f"run {run.run}.*belay cancel"):
        restored.cloud.deploy(refused)
    name = parameter_name(restored.deployment.name)
    document = restored.cloud.client("ssm").get_parameter(Name=name)["Parameter"]["Value"]
    assert Deployment.model_validate_json(document).messages_version == MESSAGES_VERSION
    [stack] = restored.cloud.client("cloudformation").describe_stacks(StackName="BelayTraining")["Stacks"]
    assert stack["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"

    # Every function gets another environment, and so another version.
    restored.cloud.deploy(
        app_with(tmp_path / "next", "stacks.functions.factory", '"Belay"', '"Belay of the next version"')
    )
    [task] = run.living_tasks
    [cluster] = restored.ecs.list_clusters()["clusterArns"]
    restored.ecs.stop_task(cluster=cluster, task=task, reason="a person stopped it")
    run.finish()

    [teardown] = restored.states.list_executions(stateMachineArn=restored.teardown_arn, maxResults=1)["executions"]
    of_train, of_teardown = asked(restored, run.arn), asked(restored, teardown["executionArn"])
    assert "belay-judge" in of_train, "after the deployment"
    [began_with], [new] = set(of_train.values()), set(of_teardown.values())
    assert int(new) > int(began_with)
    verdict = run.certificate.verdict
    assert (verdict.training, verdict.durability) == (Training.STOPPED, Durability.VERIFIED)
    assert run.file_systems == []
