"""Service-linked roles: a service makes its own at the first call that needs it, if the caller may (IAM guide, "Create
a service-linked role"). What each service needs stands in its guide, under "Using service-linked roles"."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.platform.authorization import Check
from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.settings import ACCOUNT, REGION

FSX, FSX_TO_S3 = "fsx.amazonaws.com", "s3.data-source.lustre.fsx.amazonaws.com"
ECS, AUTO_SCALING, SPOT = "ecs.amazonaws.com", "autoscaling.amazonaws.com", "spot.amazonaws.com"
NAMES = {
    FSX: "AWSServiceRoleForAmazonFSx",
    ECS: "AWSServiceRoleForECS",
    AUTO_SCALING: "AWSServiceRoleForAutoScaling",
    # Auto Scaling makes it by its own role, whose policy AutoScalingServiceRolePolicy allows it ("EC2SpotManagement").
    SPOT: "AWSServiceRoleForEC2Spot",
}
MODULE = "ministack.services.iam"
PROVISIONERS = "ministack.services.cloudformation.provisioners"
Handler = Callable[..., Any]


class ServiceLinkedRoles:
    """Which of them the account has."""

    def __init__(self, *, new_account: bool) -> None:
        self._roles = engines.use(MODULE, "_roles")
        self._create = engines.use(MODULE, "_create_service_linked_role")
        self._error = engines.use(MODULE, "_error")
        self._scope = engines.use("ministack.core.responses", "request_scope")
        if not new_account:
            for service in NAMES:
                self.make(service)

    def install(self) -> None:
        """Names the roles as AWS does, and makes those that CloudFormation's calls need."""
        engines.use(MODULE, "_IAM_HANDLERS")["CreateServiceLinkedRole"] = self._create_named
        handlers = engines.use(PROVISIONERS, "_RESOURCE_HANDLERS")
        for kind, around in {
            "AWS::ECS::Cluster": self._making_a_cluster,
            "AWS::ECS::CapacityProvider": self._making_a_provider,
            "AWS::AutoScaling::AutoScalingGroup": self._making_a_group,
        }.items():
            handlers[kind]["create"] = around(handlers[kind]["create"])

    def make(self, service: str) -> None:
        """Does nothing if it is there."""
        with self._scope(ACCOUNT, REGION):
            self._create_named({"AWSServiceName": [service]})

    def check(self, service: str) -> list[Check]:
        """What the caller needs for it: nothing, if the role is there."""
        with self._scope(ACCOUNT, REGION):
            known = NAMES[service] in self._roles
        return [] if known else [_check("iam:CreateServiceLinkedRole", service, NAMES[service])]

    @staticmethod
    def check_s3_access() -> list[Check]:
        """FSx makes a role for each linked file system, and needs all three actions on it (FSx for Lustre guide, "Using
        service-linked roles for Amazon FSx"; "Adding permissions to use data repositories in Amazon S3")."""
        actions = ("iam:CreateServiceLinkedRole", "iam:AttachRolePolicy", "iam:PutRolePolicy")
        role = "AWSServiceRoleForFSxS3Access_fs-0123456789abcdef0"  # pragma: allowlist secret
        return [_check(action, FSX_TO_S3, role) for action in actions]

    def _create_named(self, parameters: dict[str, Any]) -> Any:
        """ministack makes a name up. The refusal's words: github.com/Rayraegah/terraform-aws-hasura/issues/17."""
        (service,) = parameters["AWSServiceName"]
        made_up = f"AWSServiceRoleFor{service.split('.')[0].capitalize()}"
        name = NAMES.get(service, made_up)
        if name in self._roles:
            taken = f"Service role name {name} has been taken in this account, please try a different suffix."
            return self._error(400, "InvalidInput", taken, ns="iam")
        answer = self._create(parameters)
        role = self._roles.pop(made_up)
        self._roles[name] = {**role, "RoleName": name, "Arn": role["Arn"].replace(made_up, name)}
        return answer

    def makes(self, service: str, operation: Handler) -> Handler:
        """The operation, which leaves the service's role behind."""

        def made(request: dict[str, Any]) -> Any:
            answer = operation(request)
            self.make(service)
            return answer

        return made

    def _making_a_cluster(self, create: Handler) -> Handler:
        @wraps(create)
        def made(logical_id: str, properties: dict[str, Any], *rest: Any) -> Any:
            if properties.get("CapacityProviders") and self.check(ECS):
                # The call makes the role and takes it on before IAM knows it everywhere. The next call succeeds
                # (github.com/aws-cloudformation/cloudformation-coverage-roadmap/issues/818).
                self.make(ECS)
                raise AwsError("InvalidParameterException", "Unable to assume the service linked role.")
            answer = create(logical_id, properties, *rest)
            self.make(ECS)
            return answer

        return made

    def _making_a_provider(self, create: Handler) -> Handler:
        @wraps(create)
        def made(*arguments: Any) -> Any:
            if self.check(ECS):
                # github.com/terraform-aws-modules/terraform-aws-ecs/issues/26
                raise AwsError("ClientException", "ECS Service Linked Role does not exist.")
            return create(*arguments)

        return made

    def _making_a_group(self, create: Handler) -> Handler:
        @wraps(create)
        def made(*arguments: Any) -> Any:
            self.make(AUTO_SCALING)
            return create(*arguments)

        return made


def _check(action: str, service: str, role: str) -> Check:
    arn = f"arn:aws:iam::{ACCOUNT}:role/aws-service-role/{service}/{role}"
    # The condition key is of this one action (Service Authorization Reference, IAM).
    condition = {"iam:AWSServiceName": service} if action == "iam:CreateServiceLinkedRole" else {}
    return Check(action, arn, condition)
