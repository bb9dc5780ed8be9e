"""What a role could be after: of each kind one of this run, of another job, of another deployment, and somebody else's.

A file system is told apart by its tags, everything else by its name. Where a kind has no owner of some sort (a function
serves all jobs) that one is left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.permissions.names import JOB, RUN
from tests.support.resolve import ACCOUNT, REGION

WHOSE = ("own", "another job's", "another deployment's", "foreign")
OWN, ANOTHER_JOB, ANOTHER_DEPLOYMENT, FOREIGN = WHOSE

_OF_A_RUN = (
    "run.json",
    "ledger.json",
    "certificate.json",
    "events.jsonl",
    "events/trainer.jsonl",
    "checkpoints/checkpoint-10/file",
)


@dataclass(frozen=True)
class Thing:
    type: str  # as the Service Authorization Reference calls it
    kind: str
    whose: str
    arn: str
    context: dict[str, str] = field(default_factory=dict, hash=False)


def things(functions: list[str]) -> Iterator[Thing]:
    yield from _file_systems()
    yield from _tasks()
    yield from _objects()
    yield from _named(functions)


def _file_systems() -> Iterator[Thing]:
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
            yield Thing("fsx:file-system", f"file system {state or 'without tags'}", whose, _fsx(arn), context)
        for type, rest in (("association", f"fs-0123456789abcde{number}0/dra-0123456789abcdef0"), ("task", "task-1")):
            yield Thing(f"fsx:{type}", type, whose, _fsx(f"{type}/{rest}"))


def _tasks() -> Iterator[Thing]:
    """Tasks of all jobs share a cluster; an instance holds one job."""
    clusters = {OWN: "BelayTraining-Compute-Cluster", ANOTHER_DEPLOYMENT: "Team1X-Cluster", FOREIGN: "default"}
    for whose, cluster in [*clusters.items(), (ANOTHER_JOB, clusters[OWN])]:
        context = {"ecs:cluster": _arn("ecs", f"cluster/{cluster}")}
        for type in ("task", "container-instance"):
            name = "1" if whose == OWN else "2"
            yield Thing(f"ecs:{type}", type, whose, _arn("ecs", f"{type}/{cluster}/{name * 32}"), context)
        if whose != ANOTHER_JOB:
            yield Thing("ecs:cluster", "cluster", whose, _arn("ecs", f"cluster/{cluster}"))
            family = {OWN: "belay-trainer", ANOTHER_DEPLOYMENT: "team1-x-trainer", FOREIGN: "web"}[whose]
            arn = _arn("ecs", f"task-definition/{family}:1")
            yield Thing("ecs:task-definition", "task definition", whose, arn, context)


def _objects() -> Iterator[Thing]:
    buckets = {OWN: "belaydata-bucket", ANOTHER_DEPLOYMENT: "team1xdata-bucket", FOREIGN: "somebody"}
    for whose, bucket in buckets.items():
        yield Thing("s3:bucket", "bucket", whose, f"arn:aws:s3:::{bucket}")
        yield Thing("s3:object", "dataset", whose, f"arn:aws:s3:::{bucket}/datasets/{JOB}/train.parquet")
    for whose, bucket in [*buckets.items(), (ANOTHER_JOB, buckets[OWN])]:
        job = JOB if whose == OWN else "other"
        for kind in _OF_A_RUN:
            yield Thing("s3:object", kind, whose, f"arn:aws:s3:::{bucket}/jobs/{job}/{RUN}/{kind}")


def _named(functions: list[str]) -> Iterator[Thing]:
    for deployment, whose in (("belay", OWN), ("team1-x", ANOTHER_DEPLOYMENT), ("web", FOREIGN)):
        for function in functions:
            yield Thing("lambda:function", function, whose, _arn("lambda", f"function:{deployment}-{function}"))
        for name in ("train", "teardown"):
            machine = f"{deployment}-{name}"
            for type, rest in (("stateMachine", machine), ("execution", f"{machine}:one")):
                kind = f"{name} {type.lower()}"
                yield Thing(f"states:{type.lower()}", kind, whose, _arn("states", f"{type}:{rest}"))
    for stack, whose in (("BelayTraining", OWN), ("Team1XTraining", ANOTHER_DEPLOYMENT), ("Web", FOREIGN)):
        for role in ("Compute-Trainer-TaskRole", "Compute-Trainer-ExecutionRole", "Teardown-Machine-Role", "Admin"):
            yield Thing("iam:role", role, whose, f"arn:aws:iam::{ACCOUNT}:role/{stack}-{role}")
        yield Thing("sns:topic", "topic", whose, _arn("sns", f"{stack}-Notices-Topic"))
        for log in ("Compute-TrainerLog", "Functions-verify-log", "Network-Refused"):
            group = _arn("logs", f"log-group:{stack}-{log}")
            yield Thing("logs:log-group", log, whose, group)
            yield Thing("logs:log-stream", log, whose, f"{group}:log-stream:one")


def _fsx(rest: str) -> str:
    return _arn("fsx", rest)


def _arn(service: str, rest: str) -> str:
    return f"arn:aws:{service}:{REGION}:{ACCOUNT}:{rest}"
