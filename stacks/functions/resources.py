"""What the Lambdas work with: the variables that name it in their environment, and the grants on it."""

from aws_cdk import ArnFormat, Aws, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from belay.contract.reread import REREAD
from belay.policy.fitting import quota_code
from stacks.backends.base import Backend
from stacks.encryption import may_use
from stacks.ownership import Ownership
from stacks.settings import Settings


class Resources:
    def __init__(
        self,
        scope: Construct,
        *,
        bucket: s3.IBucket,
        key: kms.IKey | None,
        backend: Backend,
        ownership: Ownership,
        notices: sns.ITopic,
        settings: Settings,
    ) -> None:
        self._stack, self._bucket, self._key = Stack.of(scope), bucket, key
        self.ownership, self.settings = ownership, settings
        self.in_bucket = {"BELAY_BUCKET": bucket.bucket_name}
        self.deployed = {"BELAY_DEPLOYMENT": settings.deployment}
        self.mails = {"BELAY_NOTICES_TOPIC_ARN": notices.topic_arn}
        self.tasks, self.instances = backend.access_to_tasks(), backend.access_to_instances()
        self._log_group = backend.log_group
        self.trainer_log = {"BELAY_TRAINER_LOG_GROUP": self._log_group.log_group_name}
        self.mail = [allow("sns:Publish", notices.topic_arn), *may_use(key, through="sns")]

    # ---- the bucket

    @property
    def list_runs(self) -> iam.PolicyStatement:
        return allow("s3:ListBucket", self._bucket.bucket_arn)

    def list_runs_and_data(self) -> iam.PolicyStatement:
        others = [f"arn:{Aws.PARTITION}:s3:::{name}" for name in self.settings.dataset_buckets]
        return allow("s3:ListBucket", self._bucket.bucket_arn, *others)

    def look_for(self, *keys: str) -> iam.PolicyStatement:
        """Whether a run has such an object, and nothing else of what the bucket holds."""
        names = [f"jobs/*/{key}" for key in keys]
        return iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[self._bucket.bucket_arn],
            conditions={"StringLike": {"s3:prefix": names}},
        )

    def read(self, *keys: str) -> iam.PolicyStatement:
        return allow("s3:GetObject", *self._of_runs(keys))

    def write(self, *keys: str) -> iam.PolicyStatement:
        return allow("s3:PutObject", *self._of_runs(keys))

    def _of_runs(self, keys: tuple[str, ...]) -> list[str]:
        return [self._bucket.arn_for_objects(f"jobs/*/{key}") for key in keys]

    @property
    def verifying(self) -> list[iam.PolicyStatement]:
        return [
            self.list_runs,
            self.read("ledger.json", "checkpoints/*"),
            self.read_trainer_log,
            self.write("ledger.json"),
        ]

    @property
    def reread_document(self) -> list[iam.PolicyStatement]:
        key = self._bucket.arn_for_objects(REREAD)
        return [allow("s3:GetObject", key), allow("s3:PutObject", key)]

    def decrypt_for(self, functions: list[iam.IGrantable]) -> None:
        for function in functions:
            for statement in may_use(self._key, through="s3"):
                function.grant_principal.add_to_principal_policy(statement)

    # ---- AWS's APIs

    @property
    def see_file_systems(self) -> iam.PolicyStatement:
        return allow("fsx:DescribeFileSystems", "*")

    @property
    def see_file_system_tasks(self) -> iam.PolicyStatement:
        return allow("fsx:DescribeDataRepositoryTasks", "*")

    @property
    def read_trainer_log(self) -> iam.PolicyStatement:
        """AWS's documents name a log group with `:*` for streams and without for the group; reading may mean either."""
        bare = self._stack.format_arn(
            service="logs",
            resource="log-group",
            resource_name=self._log_group.log_group_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return allow("logs:FilterLogEvents", bare, self._log_group.log_group_arn)

    def see_vcpu_quotas(self) -> list[iam.PolicyStatement]:
        """Those that an instance counts for, on demand and on Spot; none where they are not known."""
        codes = [quota_code(self.settings.instance_type, spot=spot) for spot in (False, True)]
        arns = [
            self._stack.format_arn(service="servicequotas", resource="ec2", resource_name=code)
            for code in codes
            if code is not None
        ]
        return [allow("servicequotas:GetServiceQuota", *arns)] if arns else []

    # The machines ask the functions, so the functions can only know the machines by the names that they will have.

    def machine(self, name: str) -> str:
        return states_arn(self._stack, "stateMachine", name)

    def describe_executions_of(self, machine: str) -> iam.PolicyStatement:
        return allow("states:DescribeExecution", states_arn(self._stack, "execution", f"{machine}:*"))


def allow(action: str, *resources: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[action], resources=list(resources))


def states_arn(stack: Stack, resource: str, name: str) -> str:
    return stack.format_arn(
        service="states", resource=resource, resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )


def train_name(settings: Settings) -> str:
    return f"{settings.deployment}-train"


def teardown_name(settings: Settings) -> str:
    return f"{settings.deployment}-teardown"
