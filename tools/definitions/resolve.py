"""Resolves CloudFormation's intrinsics, because linters and readers cannot see into Fn::Join.

A resource without a name gets its construct's path (`BelayTraining-Compute-Cluster`), so that a resolved template is
readable and does not change with CDK's hashes. Ids that AWS chooses are in angle brackets.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

ACCOUNT = "123456789012"
REGION = "us-east-1"
_PSEUDO = {
    "AWS::AccountId": ACCOUNT,
    "AWS::Region": REGION,
    "AWS::Partition": "aws",
    "AWS::URLSuffix": "amazonaws.com",
    "AWS::NoValue": None,
}
_NAME_PROPERTIES = ("FunctionName", "StateMachineName", "LogGroupName", "Family", "BucketName", "RoleName", "Name")
_ARNS = {
    "AWS::AutoScaling::AutoScalingGroup": "arn:aws:autoscaling:{region}:{account}:autoScalingGroup:*:{name}",
    "AWS::CloudWatch::Alarm": "arn:aws:cloudwatch:{region}:{account}:alarm:{name}",
    "AWS::EC2::VPC": "arn:aws:ec2:{region}:{account}:vpc/{name}",
    "AWS::ECS::Cluster": "arn:aws:ecs:{region}:{account}:cluster/{name}",
    "AWS::ECS::TaskDefinition": "arn:aws:ecs:{region}:{account}:task-definition/{name}:1",
    "AWS::Events::Rule": "arn:aws:events:{region}:{account}:rule/{name}",
    "AWS::IAM::InstanceProfile": "arn:aws:iam::{account}:instance-profile/{name}",
    "AWS::IAM::Role": "arn:aws:iam::{account}:role/{name}",
    "AWS::KMS::Key": "arn:aws:kms:{region}:{account}:key/{name}",
    "AWS::Lambda::Function": "arn:aws:lambda:{region}:{account}:function:{name}",
    "AWS::Lambda::Version": "arn:aws:lambda:{region}:{account}:function:{name}:1",
    "AWS::Lambda::LayerVersion": "arn:aws:lambda:{region}:{account}:layer:{name}:1",
    "AWS::Logs::LogGroup": "arn:aws:logs:{region}:{account}:log-group:{name}:*",
    "AWS::S3::Bucket": "arn:aws:s3:::{name}",
    "AWS::SNS::Topic": "arn:aws:sns:{region}:{account}:{name}",
    "AWS::SQS::Queue": "arn:aws:sqs:{region}:{account}:{name}",
    "AWS::StepFunctions::StateMachine": "arn:aws:states:{region}:{account}:stateMachine:{name}",
}
# For these, Ref is the ARN.
_REF_IS_ARN = {
    "AWS::ECS::TaskDefinition",
    "AWS::Lambda::LayerVersion",
    "AWS::Lambda::Version",
    "AWS::SNS::Topic",
    "AWS::StepFunctions::StateMachine",
}


class Unresolved(Exception):
    """An intrinsic that this module cannot resolve."""


class Resolver:
    """For one template; imports are looked up in the exports of the others."""

    def __init__(self, template: Mapping[str, Any], others: Mapping[str, "Resolver"]) -> None:
        self._resources: Mapping[str, Any] = template.get("Resources", {})
        self._parameters: Mapping[str, Any] = template.get("Parameters", {})
        self._outputs: Mapping[str, Any] = template.get("Outputs", {})
        self._others = others

    def path(self, logical_id: str) -> str:
        """The construct's path, without `/Resource` at its end."""
        metadata = self._resources[logical_id].get("Metadata", {})
        return str(metadata.get("aws:cdk:path", logical_id)).removesuffix("/Resource")

    def name(self, logical_id: str) -> str:
        properties = self._resources[logical_id].get("Properties", {})
        if self._resources[logical_id]["Type"] == "AWS::Lambda::Version":
            return str(self.resolve(properties["FunctionName"]))
        for key in _NAME_PROPERTIES:
            if isinstance(properties.get(key), str):
                return str(properties[key])
        slug = self.path(logical_id).replace("/", "-")
        return slug.lower() if self._resources[logical_id]["Type"] == "AWS::S3::Bucket" else slug

    def resolve(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.resolve(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(function, argument)] = value.items()
            if function == "Ref" or function.startswith("Fn::"):
                return self._answer(function, argument)
        return {key: self.resolve(item) for key, item in value.items()}

    def _answer(self, function: str, argument: Any) -> Any:
        answers: dict[str, Callable[[Any], Any]] = {
            "Ref": self._ref,
            "Fn::GetAtt": self._attribute,
            "Fn::Join": lambda of: of[0].join(str(part) for part in self.resolve(of[1])),
            "Fn::Split": lambda of: self.resolve(of[1]).split(of[0]),
            "Fn::Select": lambda of: self.resolve(of[1])[int(of[0])],
            "Fn::Sub": self._substitute,
            "Fn::ImportValue": self._imported,
            "Fn::GetAZs": lambda of: [f"{REGION}a", f"{REGION}b"],
            "Fn::Base64": self.resolve,
        }
        if function not in answers:
            raise Unresolved(f"{function}: {argument}")
        return answers[function](argument)

    def _ref(self, of: str) -> Any:
        if of in _PSEUDO:
            return _PSEUDO[of]
        if of == "AWS::StackId":
            stack = self.path(next(iter(self._resources))).split("/")[0]
            return f"arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{stack}/0123456789abcdef"
        if of in self._parameters:
            return self._parameters[of].get("Default", of)
        if of not in self._resources:
            raise Unresolved(f"Ref: {of}")
        kind = self._resources[of]["Type"]
        if kind in _REF_IS_ARN:
            return self._attribute([of, "Arn"])
        return f"<{self.path(of)}>" if kind.startswith("AWS::EC2::") else self.name(of)

    def _attribute(self, of: Any) -> str:
        logical_id, attribute = of.split(".", 1) if isinstance(of, str) else of
        if logical_id not in self._resources:
            raise Unresolved(f"Fn::GetAtt: {logical_id}.{attribute}")
        name, kind = self.name(logical_id), self._resources[logical_id]["Type"]
        if attribute != "Arn":
            return f"<{self.path(logical_id)}.{attribute}>"
        if kind not in _ARNS:
            raise Unresolved(f"Fn::GetAtt: the form of an ARN of {kind}")
        return _ARNS[kind].format(region=REGION, account=ACCOUNT, name=name)

    def _substitute(self, of: Any) -> str:
        text, known = (of, {}) if isinstance(of, str) else of

        def one(match: re.Match[str]) -> str:
            key = match[1]
            if key in known:
                return str(self.resolve(known[key]))
            return str(self._attribute(key) if "." in key else self._ref(key))

        return re.sub(r"\$\{([^}!]+)\}", one, text)

    def _imported(self, of: Any) -> Any:
        wanted = self.resolve(of)
        for other in self._others.values():
            for output in other._outputs.values():
                if output.get("Export", {}).get("Name") == wanted:
                    return other.resolve(output["Value"])
        raise Unresolved(f"Fn::ImportValue: {wanted}")
