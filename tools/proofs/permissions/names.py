"""Replaces names that AWS gave by those of the templates, and values that differ in each run by one fixed value."""

import json
import re
from typing import Any

from tools.definitions.templates import Assembly

RUN = "20261121t024455z-3f9a2c1b"
JOB = "digits"
FILE_SYSTEM = "fs-0123456789abcdef0"
_DIGEST = "0123456789abcdef"

# In this order: an earlier pattern may contain a later one.
_FIXED_VALUES = (
    (r"\b\d{8}t\d{6}z-[0-9a-f]{8}\b", RUN),
    (r"\bfs-[0-9a-f]{17}\b", FILE_SYSTEM),
    (r"file-system/\*", f"file-system/{FILE_SYSTEM}"),
    (rf"association/{FILE_SYSTEM}/\*", f"association/{FILE_SYSTEM}/dra-0123456789abcdef0"),
    (r":task/\*$", ":task/task-0123456789abcdef0"),
    (r"(:task/[^/]+/)[0-9a-f-]{32,36}", rf"\g<1>{_DIGEST}"),
    (r"container-instance/([^/]+)/\*", rf"container-instance/\1/{_DIGEST}"),
    (r"(:execution:[^:]+:).+", r"\g<1>one"),
    (r"(:stack/[^/]+/)[0-9a-f-]{36}$", rf"\g<1>{_DIGEST}"),
    (r"(:function:[^:]+:)\d+$", r"\g<1>1"),
    (r"\bjobs/[^/]+/", f"jobs/{JOB}/"),
    (r"checkpoint-\d+", "checkpoint-10"),
    (r"(/checkpoint-10/)(?!manifest|stallfree)[^ ]+", r"\g<1>file"),
    (r"(arn:aws:s3:::[^/]+/datasets/).+", r"\g<1>digits/file"),
    (r"(?<![-\w])[0-9a-f]{16,64}\b", _DIGEST),
    (r"\b\d{4}-\d\d-\d\dT[\d:.+]+(Z|\+00:00)?", "2026-11-21T02:44:55+00:00"),
)
# Free text, and names that a person chose.
_ANY_VALUE = {"Name": f"{JOB} {RUN}", "belay:job": JOB, "belay:kept-why": "a reason"}


class Names:
    """For one deployment. `physical`: AWS's name of each resource, by stack and logical id."""

    def __init__(self, assembly: Assembly, physical: dict[str, dict[str, str]]) -> None:
        self._roles: dict[str, str] = {}
        self._plain: list[tuple[str, str]] = []
        for stack, resources in physical.items():
            for logical_id, id in resources.items():
                path, name, type = assembly.identity(stack, logical_id)
                if type == "AWS::IAM::Role":
                    self._roles[id] = path
                if type in _NAMED_BY_AWS:
                    self._plain.append((re.split(r"[:/]", id)[-1] if id.startswith("arn:") else id, name))
        self._plain.sort(key=lambda pair: -len(pair[0]))

    def call(self, raw: dict[str, Any]) -> dict[str, Any] | None:
        """The call as in the golden file; None for a role that is not of our stacks (CDK deploys with its own)."""
        role = self._roles.get(raw["role"])
        if role is None:
            return None
        context = {key: self._value(key, value) for key, value in sorted(_as_aws_writes(raw["context"]).items())}
        call = {"role": role, "action": raw["action"], "resource": self._text(raw["resource"]), "context": context}
        return call if raw["allowed"] else {**call, "allowed": False}

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(key, one) for one in value]
        return _ANY_VALUE.get(key.partition("/")[2]) or self._text(str(value))

    def _text(self, text: str) -> str:
        for theirs, ours in self._plain:
            text = text.replace(theirs, ours)
        for pattern, instead in _FIXED_VALUES:
            text = re.sub(pattern, instead, text)
        return text


def _as_aws_writes(context: dict[str, Any]) -> dict[str, Any]:
    """Condition keys are not case-sensitive, and the engine gives some twice. Tags of CloudFormation are left out: no
    policy reads them."""
    once: dict[str, str] = {}
    for key in sorted(context, reverse=True):  # Small letters first, so that a spelling with capitals wins.
        once[key.lower()] = key.replace("aws:resourcetag/", "aws:ResourceTag/").replace(
            "aws:requesttag/", "aws:RequestTag/"
        )
    return {key: context.get(key, context.get(low)) for low, key in once.items() if "/aws:cloudformation:" not in low}


_NAMED_BY_AWS = {
    "AWS::ECS::Cluster",
    "AWS::IAM::Role",
    "AWS::Lambda::Function",
    "AWS::Logs::LogGroup",
    "AWS::S3::Bucket",
    "AWS::SNS::Topic",
    "AWS::SQS::Queue",
    "AWS::StepFunctions::StateMachine",
}


def line_of(call: dict[str, Any]) -> str:
    return json.dumps(call, ensure_ascii=False)
