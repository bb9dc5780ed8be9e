"""One key of the customer's own for everything at rest, by setting. Without it AWS's own keys encrypt the same things.

Two things stay with AWS's: an instance's root disk, because an Auto Scaling group can use this key only by a grant that
a person makes by hand; and a SCRATCH_2 file system, because FSx has no other key for it.
"""

import jsii
from aws_cdk import Aws, IAspect, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

_USE = ["kms:Decrypt", "kms:GenerateDataKey"]


class CustomerKey(Construct):
    """The key, and who may use it for what. It outlives the stacks: without it checkpoints are noise."""

    def __init__(self, scope: Construct, id: str, *, deployment: str) -> None:
        super().__init__(scope, id)
        self.key = kms.Key(
            self,
            "Key",
            description=f"Everything that {deployment} keeps",
            enable_key_rotation=True,
            removal_policy=RemovalPolicy.RETAIN,
        )
        self.key.add_to_resource_policy(self._logs())
        self.key.add_to_resource_policy(self._fsx_reading_and_writing_s3())
        for statement in (self._alarms_into_the_topic(), self._undelivered_events_into_the_queue()):
            self.key.add_to_resource_policy(statement)

    def _logs(self) -> iam.PolicyStatement:
        groups = Stack.of(self).format_arn(service="logs", resource="*")
        return iam.PolicyStatement(
            sid="Logs",
            principals=[iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com")],
            actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"],
            resources=["*"],
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": groups}},
        )

    def _fsx_reading_and_writing_s3(self) -> iam.PolicyStatement:
        """FSx makes itself a role for each file system; its name is not known before, its beginning is."""
        path = f"aws-service-role/{FSX_TO_S3}/AWSServiceRoleForFSxS3Access_*"
        role = f"arn:{Aws.PARTITION}:iam::{Aws.ACCOUNT_ID}:role/{path}"
        return iam.PolicyStatement(
            sid="ExportsAndImports",
            principals=[iam.AnyPrincipal()],
            actions=["kms:Encrypt", "kms:ReEncrypt*", "kms:DescribeKey", *_USE],
            resources=["*"],
            conditions={
                "StringEquals": {
                    "kms:CallerAccount": Aws.ACCOUNT_ID,
                    "kms:ViaService": f"s3.{Aws.REGION}.amazonaws.com",
                },
                "StringLike": {"aws:PrincipalArn": role},
            },
        )

    def _alarms_into_the_topic(self) -> iam.PolicyStatement:
        return iam.PolicyStatement(
            principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
            actions=_USE,
            resources=["*"],
            conditions={"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}},
        )

    def _undelivered_events_into_the_queue(self) -> iam.PolicyStatement:
        """Of EventBridge a key does not hear for which account it asks. The queue does, and lets in one rule alone."""
        return iam.PolicyStatement(
            principals=[iam.ServicePrincipal("events.amazonaws.com")], actions=_USE, resources=["*"]
        )


FSX_TO_S3 = "s3.data-source.lustre.fsx.amazonaws.com"


def may_use(key: kms.IKey | None, *, through: str) -> list[iam.PolicyStatement]:
    """For a role that reads or writes what this service keeps. Nothing to say where there is no key of our own."""
    return [] if key is None else [_via(through, key, _USE)]


def may_encrypt_file_systems(key: kms.IKey | None) -> list[iam.PolicyStatement]:
    """FSx asks for a grant in the name of who creates a file system."""
    if key is None:
        return []
    grant = _via("fsx", key, ["kms:CreateGrant"])
    grant.add_conditions({"Bool": {"kms:GrantIsForAWSResource": "true"}})
    return [grant, _via("fsx", key, ["kms:DescribeKey", *_USE])]


def _via(service: str, key: kms.IKey, actions: list[str]) -> iam.PolicyStatement:
    return iam.PolicyStatement(
        actions=actions,
        resources=[key.key_arn],
        conditions={"StringEquals": {"kms:ViaService": f"{service}.{Aws.REGION}.amazonaws.com"}},
    )


@jsii.implements(IAspect)
class EncryptedWith:
    """Every log group, topic and queue of the stack: none can be forgotten."""

    def __init__(self, key: kms.IKey) -> None:
        self._key = key

    def visit(self, node: IConstruct) -> None:
        if isinstance(node, logs.CfnLogGroup):
            node.kms_key_id = self._key.key_arn
        elif isinstance(node, sns.CfnTopic):
            node.kms_master_key_id = self._key.key_arn
        elif isinstance(node, sqs.CfnQueue):
            node.kms_master_key_id = self._key.key_arn
            node.sqs_managed_sse_enabled = None
