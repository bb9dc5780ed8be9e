"""Role x action x thing: whole in golden/matrix.txt, and the promises of it here, one sentence each."""

import random

import pytest

from tools.definitions.grants import LOG_DELIVERY_AND_X_RAY
from tools.definitions.templates import Assembly
from tools.proofs.permissions import recorded_calls
from tools.proofs.permissions.matrix import GOLDEN, Cell, Matrix
from tools.proofs.permissions.simulator import ALLOWED, ask
from tools.proofs.permissions.targets import ANOTHER_DEPLOYMENT, ANOTHER_JOB, FOREIGN, OWN

TRAIN = "BelayTraining/Train/Machine/Role"
TEARDOWN = "BelayTraining/Teardown/Machine/Role"
TRAINING_CODE = "BelayTraining/Compute/Trainer/TaskRole"
# What IAM cannot tell from the tags of a new file system: `fsx:TagResource` knows no key for "while it is created".
# Teardown takes nothing down that is older than its run, so that a tag alone never costs anybody a file system.
NOT_TO_BE_HAD = {
    (TRAIN, "fsx:TagResource", "tagged as ours and empty", "file system without tags", FOREIGN),
    (TRAIN, "fsx:TagResource", "tagged as ours", "association", FOREIGN),
}
# Held for what happens only on AWS, or in none of the runs in the golden file.
NEVER_CALLED_HERE = {
    "as AWS does it for the role, and the local cloud does not": {
        "ec2:DescribeSecurityGroups",
        "ec2:DescribeSubnets",
        "ec2:DescribeVpcs",
        "ec2:GetSecurityGroupsForVpc",
        "events:DescribeRule",
        "events:PutRule",
        "events:PutTargets",
    },
    "for FSx, which asks it of who links a bucket": {"s3:Get*", "s3:List*"},
    "X-Ray and the writing of logs": {
        "logs:CreateLogStream",
        "logs:DescribeLogStreams",
        "logs:PutLogEvents",
        *(action for action in LOG_DELIVERY_AND_X_RAY if action.startswith("xray:")),
    },
    "the agent on a GPU instance": {
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:GetAuthorizationToken",
        "ecr:GetDownloadUrlForLayer",
        "ecs:DeregisterContainerInstance",
        "ecs:DiscoverPollEndpoint",
        "ecs:ListTagsForResource",
        "ecs:Poll",
        "ecs:RegisterContainerInstance",
        "ecs:StartTelemetrySession",
        "ecs:Submit*",
    },
    "the check of a deployment, where another one is there: judged by the end-to-end test of a new version": {
        "cloudformation:DescribeStacks",
    },
    "a Train that is stopped within its teardown: judged as soon as an end-to-end test makes such a call": {
        "states:StopExecution",
    },
}


@pytest.fixture(scope="module")
def matrix(assembly: Assembly) -> Matrix:
    return Matrix(assembly)


def place(cell: Cell) -> tuple[str, str, str, str, str]:
    return cell.role, cell.action, cell.condition, cell.kind, cell.whose


def test_the_matrix_is_the_one_that_was_reviewed(matrix: Matrix) -> None:
    assert matrix.written_out() == GOLDEN.read_text(), "if meant: python -m tools.proofs.permissions.matrix"


def test_what_no_statement_names_is_refused(matrix: Matrix) -> None:
    """A sample, asked all the same: the rest of the matrix is counted without being asked."""
    unnamed = [cell for cell in matrix.cells if not matrix.is_named(cell) and matrix.policies.of_roles[cell.role]]
    sample = random.Random(1).sample(unnamed, 500)
    verdicts = ask(matrix.policies, [cell.question for cell in sample])
    assert [place(cell) for cell, verdict in zip(sample, verdicts, strict=True) if verdict == ALLOWED] == []


def test_training_code_is_refused_everything(matrix: Matrix) -> None:
    """A job's own code: not its own file system, not another's, nothing."""
    assert any(cell.role == TRAINING_CODE for cell in matrix.cells)
    assert [place(cell) for cell in matrix.allowed if cell.role == TRAINING_CODE] == []


def test_no_role_reaches_another_deployment_or_anything_foreign(matrix: Matrix) -> None:
    reached = {place(cell) for cell in matrix.allowed if cell.whose in (ANOTHER_DEPLOYMENT, FOREIGN)}
    assert reached == NOT_TO_BE_HAD


def test_what_reaches_another_jobs_things_serves_all_jobs_and_runs_no_code_of_theirs(matrix: Matrix) -> None:
    """One machine and one set of functions serve every job of a deployment: for them IAM knows no jobs. They are ours,
    they take on nothing of a job but what was accepted, and no job can take on their roles."""
    across = {cell.role for cell in matrix.allowed if cell.whose == ANOTHER_JOB}
    served = {TRAIN, TEARDOWN, "BelayTraining/Compute/InstanceRole"}
    assert {role for role in across if not role.startswith("BelayTraining/Functions/")} == served
    own = {place(cell)[:4] for cell in matrix.allowed if cell.whose == OWN}
    assert {place(cell)[:4] for cell in matrix.allowed if cell.whose == ANOTHER_JOB} <= own


def test_a_file_system_that_may_hold_work_cannot_be_retagged(matrix: Matrix) -> None:
    """Whose it is and that it holds work decide about deletion: neither can be said anew, of no job's."""
    retagging = {
        place(cell)
        for cell in matrix.allowed
        if cell.action == "fsx:TagResource" and cell.kind == "file system in-use" and cell.condition != "marked in-use"
    }
    assert retagging == set()


def test_another_deployments_file_system_cannot_be_claimed(matrix: Matrix) -> None:
    asked = [c for c in matrix.cells if c.action == "fsx:TagResource" and c.whose == ANOTHER_DEPLOYMENT]
    assert {cell.condition for cell in asked} >= {"tagged as ours", "tagged as ours and empty", "marked in-use"}
    assert [place(cell) for cell in asked if cell in matrix.allowed] == []


def test_only_what_is_empty_is_linked(matrix: Matrix) -> None:
    linked = {c.kind for c in matrix.allowed if c.action == "fsx:CreateDataRepositoryAssociation"}
    assert linked == {"file system empty", "new fsx:association"}


def test_roles_hold_no_action_that_no_run_needed(matrix: Matrix) -> None:
    held = set().union(*matrix.named.values())
    called = {call["action"] for call in recorded_calls.golden()}
    assert held - called == set().union(*NEVER_CALLED_HERE.values())
