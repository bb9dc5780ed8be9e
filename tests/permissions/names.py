"""The names that AWS gave, as those of the synthesized templates; and what differs in each run, as one of a kind."""

import json
import re
from typing import Any

from tests.support.templates import Assembly

RUN = "20261121t024455z-3f9a2c1b"
JOB = "digits"
FILE_SYSTEM = "fs-0123456789abcdef0"
_DIGEST = "0123456789abcdef"

# In this order: what is replaced first may hold what comes later.
_ONE_OF_A_KIND = (
    (r"\b\d{8}t\d{6}z-[0-9a-f]{8}\b", RUN),
    (r"\bfs-[0-9a-f]{17}\b", FILE_SYSTEM),
    (r"file-system/\*", f"file-system/{FILE_SYSTEM}"),
    (rf"association/{FILE_SYSTEM}/\*", f"association/{FILE_SYSTEM}/dra-0123456789abcdef0"),
    (r":task/\*$", ":task/task-0123456789abcdef0"),
    (r"(:task/[^/]+/)[0-9a-f-]{32,36}", rf"\g<1>{_DIGEST}"),
    (r"container-instance/([^/]+)/\*", rf"container-instance/\1/{_DIGEST}"),
    (r"(:execution:[^:]+:).+", r"\g<1>one"),
    (r"\bjobs/[^/]+/", f"jobs/{JOB}/"),
    (r"checkpoint-\d+", "checkpoint-10"),
    (r"(/checkpoint-10/)(?!manifest|stallfree)[^ ]+", r"\g<1>file"),
    (r"(arn:aws:s3:::[^/]+/datasets/).+", r"\g<1>digits/file"),
    (r"(?<![-\w])[0-9a-f]{16,64}\b", _DIGEST),
    (r"\b\d{4}-\d\d-\d\dT[\d:.+]+(Z|\+00:00)?", "2026-11-21T02:44:55+00:00"),
)
# Free text, or a name that a person chose.
_ANY_VALUE = {"Name": f"{JOB} {RUN}", "belay:job": JOB, "belay:kept-why": "a reason"}


class Names:
    """Answers for one deployment. `physical` is what AWS calls each resource, by stack and logical id."""

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
        """The call as the golden file has it; None where the role is not one of ours (CDK deploys with its own)."""
        role = self._roles.get(raw["role"])
        if role is None:
            return None
        context = {key: self._value(key, value) for key, value in sorted(_as_aws_spells(raw["context"]).items())}
        call = {"role": role, "action": raw["action"], "resource": self._text(raw["resource"]), "context": context}
        return call if raw["allowed"] else {**call, "allowed": False}

    def _value(self, key: str, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(key, one) for one in value]
        return _ANY_VALUE.get(key.partition("/")[2]) or self._text(str(value))

    def _text(self, text: str) -> str:
        for theirs, ours in self._plain:
            text = text.replace(theirs, ours)
        for pattern, instead in _ONE_OF_A_KIND:
            text = re.sub(pattern, instead, text)
        return text


def _as_aws_spells(context: dict[str, Any]) -> dict[str, Any]:
    """Condition keys know no case, and the engine says some twice. Tags of CloudFormation are left out: it puts them on
    what it makes, here and on AWS, and no policy of ours looks at them."""
    once: dict[str, str] = {}
    for key in sorted(context, reverse=True):  # Small letters first: a spelling with capitals, if there is one, wins.
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
