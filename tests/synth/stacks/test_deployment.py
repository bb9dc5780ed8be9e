"""The document about a deployment: what the template writes is what the command line reads, and it is true."""

import pytest

from belay import __version__
from belay.contract.deployment import Deployment, parameter_name
from tests.support.deployments import EXISTING_DEPLOYMENT, EXISTING_NETWORK, PRIVATE_DEPLOYMENT
from tools.definitions.templates import Assembly

# A standard parameter, which costs nothing, holds 4 KB.
_MOST_BYTES = 4096
# No name that AWS makes of ours is this much longer than the one that the tests resolve it to.
_LONGER_BY = 64


def document_of(assembly: Assembly) -> tuple[str, str]:
    [parameter] = assembly.of_type("AWS::SSM::Parameter")
    assert parameter.properties["Type"] == "String" and "Tier" not in parameter.properties
    return parameter.properties["Name"], parameter.properties["Value"]


@pytest.mark.parametrize(
    ("fixture", "name"), [("assembly", "belay"), ("private", PRIVATE_DEPLOYMENT), ("existing", EXISTING_DEPLOYMENT)]
)
def test_each_deployment_has_a_document_of_its_own_and_it_says_what_was_deployed(
    fixture: str, name: str, request: pytest.FixtureRequest
) -> None:
    deployed: Assembly = request.getfixturevalue(fixture)
    parameter, text = document_of(deployed)
    found = Deployment.model_validate_json(text)

    assert (parameter, found.name, found.belay_version) == (parameter_name(name), name, __version__)
    functions = {one.properties["FunctionName"]: one for one in deployed.of_type("AWS::Lambda::Function")}
    variables = functions[f"{name}-sweep"].properties["Environment"]["Variables"]
    assert variables["BELAY_BUCKET"] == found.bucket
    assert variables["BELAY_TRAIN_MACHINE_ARN"] == found.train_machine_arn
    assert variables["BELAY_TEARDOWN_MACHINE_ARN"] == found.teardown_machine_arn
    assert variables["BELAY_NOTICES_TOPIC_ARN"] == found.notices_topic_arn
    find = functions[f"{name}-find"].properties["Environment"]["Variables"]
    assert (find["BELAY_CLUSTER"], find["BELAY_TRAINER_FAMILY"]) == (found.tasks.cluster_arn, found.tasks.family)
    accept = functions[f"{name}-accept"].properties["Environment"]["Variables"]
    assert accept["BELAY_PRICES"] == found.prices.model_dump_json()
    assert accept["BELAY_INSTANCE_TYPE"] == found.instance_type
    [task] = deployed.of_type("AWS::ECS::TaskDefinition")
    [container] = task.properties["ContainerDefinitions"]
    assert container["LogConfiguration"]["Options"]["awslogs-group"] == found.trainer_log_group
    templates = deployed.of_type("AWS::EC2::LaunchTemplate")
    types = {one.properties["LaunchTemplateData"]["InstanceType"] for one in templates}
    assert types == {found.instance_type}
    [dashboard] = deployed.of_type("AWS::CloudWatch::Dashboard")
    assert found.dashboard_url.endswith(f"/{dashboard.properties['DashboardName']}")


def test_it_names_the_zone_that_training_is_in(assembly: Assembly, existing: Assembly) -> None:
    [own] = [one for one in assembly.of_type("AWS::EC2::Subnet") if "training" in one.path]
    zone = Deployment.model_validate_json(document_of(assembly)[1]).availability_zone
    assert zone == own.properties["AvailabilityZone"]
    zone = Deployment.model_validate_json(document_of(existing)[1]).availability_zone
    assert zone == EXISTING_NETWORK["availability_zone"]


@pytest.mark.parametrize("fixture", ["assembly", "private", "existing"])
def test_it_fits_into_a_parameter_that_costs_nothing(fixture: str, request: pytest.FixtureRequest) -> None:
    _, text = document_of(request.getfixturevalue(fixture))
    assert len(text.encode()) + _LONGER_BY * len(Deployment.model_fields) < _MOST_BYTES
