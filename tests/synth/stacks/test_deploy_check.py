"""The check of a deployment comes before everything that a living run relies on."""

import pytest

from belay.contract.deployment import Deployment
from belay.contract.messages import MESSAGES_VERSION
from tools.definitions.templates import Assembly

# What a living run is answered by or goes on in, and what decides about what is left of it.
_RELIED_ON = {
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::Lambda::Function",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Version",
    "AWS::StepFunctions::StateMachine",
}
_HOLDERS = ("Functions", "Train", "Teardown")


@pytest.mark.parametrize("fixture", ["assembly", "private", "existing"])
def test_all_that_runs_rely_on_waits_for_it(fixture: str, request: pytest.FixtureRequest) -> None:
    deployed: Assembly = request.getfixturevalue(fixture)
    [check] = deployed.of_type("Custom::DeployCheck")
    [stack] = [name for name, one in deployed.templates.items() if check.raw in one["Resources"].values()]
    [name] = [name for name, raw in deployed.templates[stack]["Resources"].items() if raw == check.raw]
    relied_on = [
        one
        for one in deployed.resources
        if one.type in _RELIED_ON and one.path.split("/")[1] in _HOLDERS and one.path.startswith(f"{stack}/")
    ]
    assert {one.type for one in relied_on} == _RELIED_ON
    assert [one.path for one in relied_on if name not in one.raw.get("DependsOn", [])] == []
    functions = {one.path for one in deployed.of_type("AWS::Lambda::Function")}
    assert len(functions - {one.path for one in relied_on}) == 1, "its own"


def test_it_is_asked_again_for_each_version_of_the_messages(assembly: Assembly) -> None:
    """CloudFormation asks a custom resource where one of its properties is another one."""
    [check] = assembly.of_type("Custom::DeployCheck")
    assert check.properties["MessagesVersion"] == MESSAGES_VERSION
    [parameter] = assembly.of_type("AWS::SSM::Parameter")
    assert check.properties["Parameter"] == parameter.properties["Name"]
    document = Deployment.model_validate_json(parameter.properties["Value"])
    assert document.messages_version == MESSAGES_VERSION
    assert check.properties["TrainMachine"] == document.train_machine_arn
    assert check.properties["TeardownMachine"] == document.teardown_machine_arn
