"""One local cloud with the fixture app deployed on it, for all tests that need a server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tools.local_cloud.cloud import LocalCloud

from .machines import Machines
from .waiting import eventually

APP = Path(__file__).parent / "app"
TIME_SCALE = 400.0


@dataclass(frozen=True)
class Deployed:
    """The cloud, and the outputs of the fixture app."""

    cloud: LocalCloud
    outputs: dict[str, str]

    def start(self, job: str, *, steps: int = 2, step_seconds: float = 0.02, exit_code: int = 0, **more: Any) -> str:
        """Starts the flow and gives the execution's ARN."""
        asked = {"job": job, "steps": steps, "step_seconds": step_seconds, "exit_code": exit_code, **more}
        states = self.cloud.client("stepfunctions")
        started = states.start_execution(stateMachineArn=self.outputs["Flow"], input=json.dumps(asked))
        return str(started["executionArn"])

    def describe(self, execution: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.cloud.client("stepfunctions").describe_execution(executionArn=execution)
        return answer

    def end_of(self, execution: str) -> dict[str, Any]:
        """Waits for the end of an execution."""
        answer: dict[str, Any] = eventually(lambda: (d := self.describe(execution))["status"] != "RUNNING" and d)
        return answer

    def states(self, execution: str) -> list[str]:
        """The names of the states that were entered, in order."""
        answer = self.cloud.client("stepfunctions").get_execution_history(executionArn=execution, maxResults=1000)
        entered = (event.get("stateEnteredEventDetails") for event in answer["events"])
        return [details["name"] for details in entered if details]

    def file_system_of(self, job: str) -> dict[str, Any] | None:
        found = self.cloud.client("fsx").describe_file_systems()["FileSystems"]
        mine = (one for one in found if {"Key": "belay:job", "Value": job} in one["Tags"])
        return next(mine, None)

    def task_of(self, job: str) -> dict[str, Any] | None:
        """The ECS task that mounts the job's file system."""
        ecs, cluster = self.cloud.client("ecs"), self.outputs["Cluster"]
        file_system = self.file_system_of(job)
        arns = [
            arn
            for status in ("RUNNING", "STOPPED")
            for arn in ecs.list_tasks(cluster=cluster, desiredStatus=status)["taskArns"]
        ]
        tasks = ecs.describe_tasks(cluster=cluster, tasks=arns)["tasks"] if arns else []
        return next(
            (one for one in tasks if file_system and file_system["DNSName"] in json.dumps(one["overrides"])), None
        )

    def lines_of(self, task: dict[str, Any]) -> list[dict[str, Any]]:
        """What a task wrote to CloudWatch Logs: nothing, until its stream is there."""
        stream = f"run/trainer/{task['taskArn'].rpartition('/')[2]}"
        asked = {"logGroupName": self.outputs["Logs"], "logStreamNames": [stream]}
        logs = self.cloud.client("logs")
        try:
            return [json.loads(event["message"]) for event in logs.filter_log_events(**asked)["events"]]
        except logs.exceptions.ResourceNotFoundException:
            return []

    def keys(self, prefix: str) -> list[str]:
        asked = {"Bucket": self.outputs["Bucket"], "Prefix": prefix}
        return [one["Key"] for one in self.cloud.client("s3").list_objects_v2(**asked).get("Contents", [])]


def synthesize(to: Path, **context: str) -> Path:
    """Synthesized once: the CDK CLI then deploys, compares and destroys without running the app again."""
    program = {"CDK_OUTDIR": str(to), "CDK_CONTEXT_JSON": json.dumps(context), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    subprocess.run([sys.executable, "app.py"], cwd=APP, env=program, check=True, capture_output=True)
    return to


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixture app's templates and assets."""
    return synthesize(tmp_path_factory.mktemp("assembly"))


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    """An empty local cloud, bootstrapped."""
    state = tmp_path_factory.mktemp("cloud")
    with LocalCloud(state_dir=state, time_scale=TIME_SCALE, shortest_stop_seconds=2.0) as cloud:
        cloud.bootstrap()
        yield cloud


@pytest.fixture(scope="session")
def deployed(cloud: LocalCloud, assembly: Path) -> Deployed:
    """The fixture app, deployed by the real CDK CLI."""
    cloud.deploy(assembly)
    stack = cloud.client("cloudformation").describe_stacks(StackName="Training")["Stacks"][0]
    return Deployed(cloud, {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]})


@pytest.fixture(scope="session")
def role(cloud: LocalCloud) -> str:
    """A role that may do everything, for tests that are not about permissions."""
    iam = cloud.client("iam")
    trust = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    arn = iam.create_role(RoleName="AnyMachine", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
    iam.put_role_policy(RoleName="AnyMachine", PolicyName="everything", PolicyDocument=json.dumps(everything))
    return str(arn)


@pytest.fixture
def machines(cloud: LocalCloud, role: str) -> Machines:
    return Machines(cloud, role)


@pytest.fixture(autouse=True)
def no_faults_left(request: pytest.FixtureRequest) -> Iterator[None]:
    """A fault of one test must not happen in another."""
    yield
    if "deployed" in request.fixturenames:
        request.getfixturevalue("cloud").clear_faults()
