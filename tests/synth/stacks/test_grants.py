"""Who may do what: whole in golden/grants.txt, and the promises of it here, one sentence each."""

import re

import pytest

from tools.definitions.asl import tasks
from tools.definitions.grants import LOG_DELIVERY_AND_X_RAY, Grant, grants, grants_at_resources, trusts
from tools.definitions.templates import Assembly
from tools.docgen import outlines

TRAIN = "BelayTraining/Train/Machine/Role"
TEARDOWN = "BelayTraining/Teardown/Machine/Role"
OURS = "StringEquals aws:ResourceTag/belay:deployment = belay"
# The state of a file system, which changes; what makes it ours, its run's and its execution's never does.
STATE_TAGS = "belay:state, belay:kept-why, belay:kept-since, belay:kept-usd-a-day"
# They know no resources in AWS's own reference, come with CDK's grants to ECS, X-Ray and log delivery, or are what FSx
# asks of EC2 in a creator's name (AmazonFSxFullAccess has them so, and a VPC may be another account's).
ON_EVERYTHING = {
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
    "ec2:GetSecurityGroupsForVpc",
    "ecr:GetAuthorizationToken",
    "ecs:DiscoverPollEndpoint",
    "ecs:ListTasks",
    "ecs:Poll",
    "ecs:StartTelemetrySession",
    "fsx:DescribeDataRepositoryAssociations",
    "fsx:DescribeDataRepositoryTasks",
    "fsx:DescribeFileSystems",
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    *LOG_DELIVERY_AND_X_RAY,
}


@pytest.fixture(scope="module")
def all_grants(assembly: Assembly) -> list[Grant]:
    return grants(assembly)


def test_the_grants_are_those_that_were_reviewed(assembly: Assembly) -> None:
    assert outlines.rendered(assembly)["grants.txt"] == outlines.committed("grants.txt"), (
        f"if meant: {outlines.REFRESH}"
    )


def test_training_code_has_no_permission_at_all(assembly: Assembly, all_grants: list[Grant]) -> None:
    role = "BelayTraining/Compute/Trainer/TaskRole"
    assert role in trusts(assembly)
    assert [grant for grant in all_grants if grant.holder == role] == []
    task_role = assembly.at("Compute/Trainer", "AWS::ECS::TaskDefinition").properties["TaskRoleArn"]
    assert task_role.endswith(role.replace("/", "-"))


def test_only_teardown_deletes_file_systems_and_only_ours(all_grants: list[Grant]) -> None:
    deleting = [grant for grant in all_grants if grant.action == "fsx:DeleteFileSystem"]
    assert [(grant.holder, grant.condition) for grant in deleting] == [(TEARDOWN, OURS)]


def test_nobody_deletes_objects_or_exports(all_grants: list[Grant]) -> None:
    removing = ("s3:Delete", "fsx:Cancel", "fsx:Release", "fsx:Untag", "fsx:Update")
    assert [grant for grant in all_grants if grant.action.startswith(removing)] == []


def test_only_train_removes_a_link_and_only_one_of_ours(all_grants: list[Grant]) -> None:
    """One that failed, to make it again: what is on the file system and in S3 stays."""
    removing = [grant for grant in all_grants if grant.action.startswith("fsx:DeleteData")]
    assert [(grant.holder, grant.action, grant.condition) for grant in removing] == [
        (TRAIN, "fsx:DeleteDataRepositoryAssociation", "StringEquals aws:ResourceTag/belay:deployment = belay")
    ]


def test_only_train_makes_file_systems_and_only_tagged_as_ours(all_grants: list[Grant]) -> None:
    making = [grant for grant in all_grants if grant.action == "fsx:CreateFileSystem"]
    assert [(grant.holder, grant.condition) for grant in making] == [
        (
            TRAIN,
            "StringEquals aws:RequestTag/belay:deployment = belay and StringEquals aws:RequestTag/belay:state = empty",
        )
    ]


def test_links_and_exports_are_made_on_our_file_systems_only(all_grants: list[Grant]) -> None:
    on_file_systems = {
        (grant.action, grant.condition)
        for grant in all_grants
        if grant.action.startswith("fsx:CreateData") and "file-system/" in grant.resource
    }
    assert on_file_systems == {
        ("fsx:CreateDataRepositoryAssociation", f"{OURS} and StringEquals aws:ResourceTag/belay:state = empty"),
        ("fsx:CreateDataRepositoryTask", OURS),
    }


def test_whoever_can_make_a_file_system_ours_by_tag_cannot_delete_any(all_grants: list[Grant]) -> None:
    def only_state(grant: Grant) -> bool:
        held_to = {f"ForAllValues:StringEquals aws:TagKeys = {STATE_TAGS}", OURS}
        return held_to <= set(grant.condition.split(" and "))

    tagging = {g.holder for g in all_grants if g.action == "fsx:TagResource" and not only_state(g)}
    deleting = {g.holder for g in all_grants if g.action == "fsx:DeleteFileSystem"}
    assert tagging == {TRAIN}
    assert not tagging & deleting


def test_roles_are_passed_to_ecs_tasks_only(all_grants: list[Grant]) -> None:
    passing = [grant for grant in all_grants if grant.action == "iam:PassRole"]
    assert {grant.holder for grant in passing} == {TRAIN}
    assert {grant.condition for grant in passing} == {"StringEquals iam:PassedToService = ecs-tasks.amazonaws.com"}
    assert all(re.search("/BelayTraining-Compute-Trainer-(Task|Execution)Role$", grant.resource) for grant in passing)


def test_tasks_are_run_and_stopped_in_our_cluster_only(all_grants: list[Grant]) -> None:
    ours = "ArnEquals ecs:cluster = arn:aws:ecs:us-east-1:123456789012:cluster/BelayTraining-Compute-Cluster"
    acting = [
        g for g in all_grants if g.action in ("ecs:RunTask", "ecs:StopTask", "ecs:ListTasks", "ecs:DescribeTasks")
    ]
    assert acting
    assert {grant.condition for grant in acting} == {ours}


def test_training_is_run_from_any_revision_of_its_task_and_from_no_other_task(all_grants: list[Grant]) -> None:
    running = {
        (grant.holder, grant.resource.rpartition(":task-definition/")[2])
        for grant in all_grants
        if grant.action == "ecs:RunTask"
    }
    assert running == {(TRAIN, "belay-trainer:*")}


def test_no_action_has_a_wildcard_but_the_agents_own_and_what_fsx_asks(all_grants: list[Grant]) -> None:
    wild = {(grant.holder, grant.action) for grant in all_grants if "*" in grant.action}
    as_fsx_asks = {(TRAIN, "s3:Get*"), (TRAIN, "s3:List*")}
    assert wild == {("BelayTraining/Compute/InstanceRole", "ecs:Submit*"), *as_fsx_asks}


def test_what_is_allowed_on_everything_is_known(all_grants: list[Grant]) -> None:
    assert {grant.action for grant in all_grants if grant.resource == "*"} == ON_EVERYTHING


def test_no_role_holds_a_managed_policy(all_grants: list[Grant]) -> None:
    assert [grant for grant in all_grants if grant.action == "(managed policy)"] == []


def test_functions_neither_create_nor_delete_nor_start_anything(all_grants: list[Grant]) -> None:
    """But for exports by the pump, stops by the Spot warning, teardowns by the sweep: what these three are for."""
    changing = re.compile(r":(Create|Delete|Run|Start|Stop|Update|Pass|Attach|Invoke|Untag)")
    held = {
        (grant.holder, grant.action)
        for grant in all_grants
        if "/Functions/" in grant.holder and changing.search(grant.action) and not grant.action.startswith("logs:")
    }
    assert held == {
        ("BelayTraining/Functions/interrupt-role", "ecs:StopTask"),
        ("BelayTraining/Functions/pump-role", "fsx:CreateDataRepositoryTask"),
        ("BelayTraining/Functions/sweep-role", "states:StartExecution"),
    }
    started = {grant.resource for grant in all_grants if grant.action == "states:StartExecution"}
    assert {arn.rpartition(":")[2] for arn in started} == {"belay-teardown"}


def test_functions_write_their_own_files_of_a_run_and_nothing_else(all_grants: list[Grant]) -> None:
    written: dict[str, set[str]] = {}
    for grant in all_grants:
        if grant.action.startswith("s3:Put"):
            name = grant.resource.removeprefix("arn:aws:s3:::belaydata-bucket/jobs/*/")
            written.setdefault(grant.holder.removeprefix("BelayTraining/Functions/"), set()).add(name)
    assert written == {
        TRAIN: {"arn:aws:s3:::belaydata-bucket/*"},
        "accept-role": {"run.json"},
        "certify-role": {"certificate.json", "events.jsonl"},
        "pump-role": {"ledger.json", "pump.json"},
        "reread-role": {"ledger.json", "arn:aws:s3:::belaydata-bucket/reread.json"},
        "verify-role": {"ledger.json"},
    }


def test_no_role_writes_checkpoints(all_grants: list[Grant]) -> None:
    """FSx alone brings them to S3. It wants of Train's role, which links the bucket, that it could."""
    writing = [grant for grant in all_grants if grant.action.startswith("s3:Put")]
    wide = [grant for grant in writing if "checkpoint" in grant.resource or grant.resource.endswith("*")]
    assert {grant.holder for grant in wide} == {TRAIN}


@pytest.mark.parametrize("machine", ["Train", "Teardown"])
def test_no_state_calls_s3(assembly: Assembly, machine: str) -> None:
    """What Train's role could read and write is for FSx to see: no state uses it."""
    called = {state["Resource"].partition(":::")[2] for state in tasks(assembly.machine(machine)).values()}
    assert not [resource for resource in called if "s3" in resource.split(":")]


@pytest.mark.parametrize(("machine", "role"), [("Train", TRAIN), ("Teardown", TEARDOWN)])
def test_a_machine_invokes_what_its_flow_asks_and_nothing_else(
    assembly: Assembly, all_grants: list[Grant], machine: str, role: str
) -> None:
    asked = {
        state["Arguments"]["FunctionName"]
        for state in tasks(assembly.machine(machine)).values()
        if state["Resource"].endswith("lambda:invoke")
    }
    held = {g.resource for g in all_grants if g.holder == role and g.action == "lambda:InvokeFunction"}
    assert all(arn.endswith(":1") for arn in asked), "a version, so that an execution keeps the code that it began with"
    # An execution from before a deployment names another version, and has the role as the deployment made it.
    assert held == asked | {f"{arn.removesuffix(':1')}:*" for arn in asked}


@pytest.mark.parametrize(("machine", "role"), [("Train", TRAIN), ("Teardown", TEARDOWN)])
def test_a_machine_holds_the_action_of_every_call_in_its_flow(
    assembly: Assembly, all_grants: list[Grant], machine: str, role: str
) -> None:
    needed = set()
    for state in tasks(assembly.machine(machine)).values():
        called = re.search(r":::aws-sdk:(\w+):(\w)(\w+)", state["Resource"])
        if called:
            needed.add(f"{called[1]}:{called[2].upper()}{called[3]}")
    assert needed <= {grant.action for grant in all_grants if grant.holder == role}


def test_the_bucket_refuses_what_is_not_encrypted_on_its_way(assembly: Assembly) -> None:
    said = grants_at_resources(assembly)
    bucket = [grant for grant in said if grant.holder.startswith("BelayData/Bucket/Policy")]
    refused = {(g.effect, g.action, g.resource, g.condition) for g in bucket}
    for resource in ("arn:aws:s3:::belaydata-bucket", "arn:aws:s3:::belaydata-bucket/*"):
        assert ("Deny", "s3:*", resource, "Bool aws:SecureTransport = false") in refused


def test_the_bucket_policy_leaves_fsx_its_export(assembly: Assembly) -> None:
    """A policy that insists on a VPC or an endpoint breaks what FSx reads and writes."""
    conditions = [g.condition for g in grants_at_resources(assembly) if g.holder.startswith("BelayData/Bucket/Policy")]
    assert conditions
    assert not [condition for condition in conditions if "Vpc" in condition]


def test_another_deployment_is_held_to_its_own_tag(private: Assembly) -> None:
    deleting = [grant for grant in grants(private) if grant.action == "fsx:DeleteFileSystem"]
    assert [g.condition for g in deleting] == ["StringEquals aws:ResourceTag/belay:deployment = team1-x"]
