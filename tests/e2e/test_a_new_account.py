"""A first run from nothing, in an account as AWS gives it out: no quota for GPUs, a Lambda concurrency of 10, no
service-linked roles, no resource policy in CloudWatch Logs. What is missing is said before anything is made."""

import shlex
from collections.abc import Iterator

import pytest
from awscli.clidriver import create_clidriver

from belay.aws.instances import fit
from belay.contract.job import Resources
from tools.definitions.templates import Assembly
from tools.local_cloud.cloud import LocalCloud
from tools.local_cloud.environment import for_aws
from tools.local_runs.deploy import deployed_on, upload_digits
from tools.local_runs.jobs import TIME_SCALE, digits
from tools.local_runs.runs import Deployed
from tools.proofs.permissions import recorded_calls

FSX = "AWSServiceRoleForAmazonFSx"


@pytest.fixture(scope="module")
def first(assembly: Assembly, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    state = tmp_path_factory.mktemp("new-account")
    cloud = LocalCloud(state_dir=state, time_scale=TIME_SCALE, new_account=True)
    with deployed_on(cloud, assembly.directory) as deployed:
        upload_digits(deployed, tmp_path_factory.mktemp("digits"))
        yield deployed


def linked_roles(deployed: Deployed) -> set[str]:
    listed = deployed.cloud.client("iam").list_roles(PathPrefix="/aws-service-role/")["Roles"]
    return {one["RoleName"] for one in listed}


def test_a_first_run_is_refused_with_the_command_that_helps_and_then_runs(
    first: Deployed, assembly: Assembly, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deployment itself went through, and left the roles of ECS and Auto Scaling."""
    assert linked_roles(first) == {"AWSServiceRoleForECS", "AWSServiceRoleForAutoScaling"}

    refused = first.start(digits("first")).finish()
    assert refused.error == "JobRefused"
    assert "'Running On-Demand G and VT instances' is 0" in refused.cause
    assert "Create scratch file system" not in refused.states
    assert first.fsx.describe_file_systems()["FileSystems"] == [] and FSX not in linked_roles(first)

    for name, value in for_aws(first.cloud.settings).items():
        monkeypatch.setenv(name, value)
    line = refused.cause.partition("ask AWS for more: aws ")[2].splitlines()[0]
    assert create_clidriver().main(shlex.split(line.split('"')[0].replace("\\n", " "))) == 0
    refused.until(
        lambda: fit(first.cloud.client, Resources(gpus=0), instance_type="g6.xlarge").faults == [],
        "AWS grants the quota",
    )

    run = first.start(digits("first")).finish()
    assert run.status == "SUCCEEDED", run.story()
    assert run.certificate.verdict.last_verified_step == 40
    assert FSX in linked_roles(first)
    assert recorded_calls.refused_by_the_simulator(first.cloud, assembly) == []
