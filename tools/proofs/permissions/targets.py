"""The targets of the matrix: of each kind one of this run, another job, another deployment, and another owner.

A file system belongs to an owner by its tags, everything else by its name. Owners that a kind cannot have are left out:
a function serves all jobs.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tools.definitions.resolve import ACCOUNT, REGION
from tools.proofs.permissions.names import JOB, RUN

WHOSE = ("own", "another job's", "another deployment's", "foreign")
OWN, ANOTHER_JOB, ANOTHER_DEPLOYMENT, FOREIGN = WHOSE

_OF_A_RUN = (
    "run.json",
    "ledger.json",
    "pump.json",
    "certificate.json",
    "events.jsonl",
    "events/trainer.jsonl",
    "checkpoints/checkpoint-10/file",
)


@dataclass(frozen=True)
class Target:
    type: str  # as the Service Authorization Reference calls it
    kind: str
    whose: str
    arn: str
    context: dict[str, str] = field(default_factory=dict, hash=False)


def targets(functions: list[str]) -> Iterator[Target]:
    yield from _file_systems()
    yield from _tasks()
    yield from _objects()
    yield from _named(functions)


def _file_systems() -> Iterator[Target]:
    tags = {
        OWN: {"belay:deployment": "belay", "belay:job": JOB},
        ANOTHER_JOB: {"belay:deployment": "belay", "belay:job": "other"},
        ANOTHER_DEPLOYMENT: {"belay:deployment": "team1-x", "belay:job": "other"},
    }
    for number, whose in enumerate(WHOSE):
        for state in ("empty", "in-use") if whose in tags else ("",):
            said = {**tags[whose], "belay:state": state} if whose in tags else {}
            context = {f"aws:ResourceTag/{key}": value for key, value in said.items()}
            arn = f"file-system/fs-0123456789abcde{number}0"
            yield Target("fsx:file-system", f"file system {state or 'without tags'}", whose, _fsx(arn), context)
        for type, rest in (("association", f"fs-0123456789abcde{number}0/dra-0123456789abcdef0"), ("task", "task-1")):
            # Belay tags the links that it makes.
            deployment = tags.get(whose, {}).get("belay:deployment") if type == "association" else None
            tagged = {"aws:ResourceTag/belay:deployment": deployment} if deployment else {}
            yield Target(f"fsx:{type}", type, whose, _fsx(f"{type}/{rest}"), tagged)


def _tasks() -> Iterator[Target]:
    """Tasks of all jobs share a cluster; an instance holds one job."""
    clusters = {OWN: "BelayTraining-Compute-Cluster", ANOTHER_DEPLOYMENT: "Team1X-Cluster", FOREIGN: "default"}
    for whose, cluster in [*clusters.items(), (ANOTHER_JOB, clusters[OWN])]:
        context = {"ecs:cluster": _arn("ecs", f"cluster/{cluster}")}
        for type in ("task", "container-instance"):
            name = "1" if whose == OWN else "2"
            yield Target(f"ecs:{type}", type, whose, _arn("ecs", f"{type}/{cluster}/{name * 32}"), context)
        if whose != ANOTHER_JOB:
            yield Target("ecs:cluster", "cluster", whose, _arn("ecs", f"cluster/{cluster}"))
            family = {OWN: "belay-trainer", ANOTHER_DEPLOYMENT: "team1-x-trainer", FOREIGN: "web"}[whose]
            arn = _arn("ecs", f"task-definition/{family}:1")
            yield Target("ecs:task-definition", "task definition", whose, arn, context)


def _objects() -> Iterator[Target]:
    buckets = {OWN: "belaydata-bucket", ANOTHER_DEPLOYMENT: "team1xdata-bucket", FOREIGN: "somebody"}
    for whose, bucket in buckets.items():
        yield Target("s3:bucket", "bucket", whose, f"arn:aws:s3:::{bucket}")
        yield Target("s3:object", "dataset", whose, f"arn:aws:s3:::{bucket}/datasets/{JOB}/train.parquet")
    for whose, bucket in [*buckets.items(), (ANOTHER_JOB, buckets[OWN])]:
        job = JOB if whose == OWN else "other"
        for kind in _OF_A_RUN:
            yield Target("s3:object", kind, whose, f"arn:aws:s3:::{bucket}/jobs/{job}/{RUN}/{kind}")


def _named(functions: list[str]) -> Iterator[Target]:
    for deployment, whose in (("belay", OWN), ("team1-x", ANOTHER_DEPLOYMENT), ("web", FOREIGN)):
        for function in functions:
            yield Target("lambda:function", function, whose, _arn("lambda", f"function:{deployment}-{function}:1"))
        for name in ("train", "teardown"):
            machine = f"{deployment}-{name}"
            for type, rest in (("stateMachine", machine), ("execution", f"{machine}:one")):
                kind = f"{name} {type.lower()}"
                yield Target(f"states:{type.lower()}", kind, whose, _arn("states", f"{type}:{rest}"))
    # Of the account: the vCPUs of G instances, which runs use, and addresses.
    for code, whose in (("L-DB2E81BA", OWN), ("L-0263D0A3", FOREIGN)):
        yield Target("servicequotas:quota", "quota", whose, _arn("servicequotas", f"ec2/{code}"))
    for deployment, whose in (("belay/belay", OWN), ("belay/team1-x", ANOTHER_DEPLOYMENT), ("web", FOREIGN)):
        yield Target("ssm:parameter", "document", whose, _arn("ssm", f"parameter/{deployment}"))
    for stack, whose in (("BelayTraining", OWN), ("Team1XTraining", ANOTHER_DEPLOYMENT), ("Web", FOREIGN)):
        for role in ("Compute-Trainer-TaskRole", "Compute-Trainer-ExecutionRole", "Teardown-Machine-Role", "Admin"):
            yield Target("iam:role", role, whose, f"arn:aws:iam::{ACCOUNT}:role/{stack}-{role}")
        yield Target("cloudformation:stack", "stack", whose, _arn("cloudformation", f"stack/{stack}/0123456789abcdef"))
        yield Target("sns:topic", "topic", whose, _arn("sns", f"{stack}-Notices-Topic"))
        for log in ("Compute-TrainerLog", "Functions-verify-log", "Network-Refused"):
            group = _arn("logs", f"log-group:{stack}-{log}")
            yield Target("logs:log-group", log, whose, group)
            yield Target("logs:log-stream", log, whose, f"{group}:log-stream:one")


def _fsx(rest: str) -> str:
    return _arn("fsx", rest)


def _arn(service: str, rest: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}"
