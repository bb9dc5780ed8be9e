"""The Lambdas: one for each question, each with a role of its own that can answer it and do nothing else."""

from collections.abc import Sequence
from pathlib import Path

from aws_cdk import ArnFormat, Aws, Duration, IgnoreMode, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sns as sns
from constructs import Construct

from stacks.compute import Compute
from stacks.encryption import may_use
from stacks.layer import dependencies
from stacks.settings import Settings
from stacks.workflow.ownership import Ownership

_REPOSITORY = Path(__file__).parent.parent


class Functions(Construct):
    """Every function is an attribute, named for its question; the grants beside it are all it has."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket,
        key: kms.IKey | None,
        compute: Compute,
        ownership: Ownership,
        notices: sns.ITopic,
        settings: Settings,
    ) -> None:
        super().__init__(scope, id)
        self._settings = settings
        self._layer = dependencies(self, "Dependencies")
        # One archive for all: only our own code, so nothing compiled is in it.
        self._code = lambda_.Code.from_asset(
            str(_REPOSITORY),
            exclude=["**", "!lambdas/**", "!contract/**", "!goodput/**", "**/__pycache__"],
            ignore_mode=IgnoreMode.DOCKER,
        )
        in_bucket = {"BELAY_BUCKET": bucket.bucket_name}
        deployed = {"BELAY_DEPLOYMENT": settings.deployment}
        tells = {"BELAY_NOTICES_TOPIC_ARN": notices.topic_arn}
        tell = [_allow("sns:Publish", notices.topic_arn), *may_use(key, through="sns")]
        tasks = {"BELAY_CLUSTER": compute.cluster.cluster_arn, "BELAY_TRAINER_FAMILY": compute.family}
        trainer_log = {"BELAY_TRAINER_LOG_GROUP": compute.log_group.log_group_name}

        list_runs = _allow("s3:ListBucket", bucket.bucket_arn)

        def read(*keys: str) -> iam.PolicyStatement:
            return _allow("s3:GetObject", *(bucket.arn_for_objects(f"jobs/*/{key}") for key in keys))

        see_tasks = [compute.may_list_tasks(), compute.may_describe_tasks()]
        see_file_systems = _allow("fsx:DescribeFileSystems", "*")
        see_file_system_tasks = _allow("fsx:DescribeDataRepositoryTasks", "*")
        read_trainer_log = _allow("logs:FilterLogEvents", *self._both_arns_of(compute.log_group))

        dataset_buckets = [f"arn:{Aws.PARTITION}:s3:::{name}" for name in settings.dataset_buckets]
        self.accept = self._function(
            "accept",
            environment={
                **in_bucket,
                **deployed,
                "BELAY_DATASET_BUCKETS": ",".join(settings.dataset_buckets),
                "BELAY_PRICES": settings.prices.model_dump_json(),
            },
            allowed=[
                _allow("s3:ListBucket", bucket.bucket_arn, *dataset_buckets),
                read("run.json", "checkpoints/*"),
                _allow("s3:PutObject", bucket.arn_for_objects("jobs/*/run.json")),
            ],
        )
        self.scratch_phase = self._function("scratch_phase", allowed=[see_file_systems])
        self.links_phase = self._function(
            "links_phase", allowed=[_allow("fsx:DescribeDataRepositoryAssociations", "*"), see_file_system_tasks]
        )
        self.training_phase = self._function("training_phase", environment=tasks, allowed=see_tasks)
        self.export_phase = self._function("export_phase", allowed=[see_file_system_tasks])
        self.mark = self._function("mark", allowed=ownership.may_mark())
        self.judge = self._function("judge", allowed=[])
        self.find = self._function(
            "find",
            environment={**in_bucket, **deployed, **tasks},
            allowed=[
                see_file_systems,
                *see_tasks,
                list_runs,
                read("run.json", "ledger.json", "certificate.json"),
                _allow("states:DescribeExecution", self._executions_of(train_name(settings))),
            ],
        )
        verifying = [
            list_runs,
            read("ledger.json", "checkpoints/*"),
            read_trainer_log,
            _allow("s3:PutObject", bucket.arn_for_objects("jobs/*/ledger.json")),
        ]
        self.verify = self._function(
            "verify",
            environment={**in_bucket, **trainer_log},
            allowed=[*verifying, read("events/*")],
            memory_mib=1024,
            timeout=Duration.minutes(10),
        )
        self.certify = self._function(
            "certify",
            environment={**in_bucket, **trainer_log},
            allowed=[
                list_runs,
                read("run.json", "ledger.json", "certificate.json", "events.jsonl", "events/*"),
                read_trainer_log,
                _allow(
                    "s3:PutObject",
                    bucket.arn_for_objects("jobs/*/certificate.json"),
                    bucket.arn_for_objects("jobs/*/events.jsonl"),
                ),
            ],
            memory_mib=512,
            timeout=Duration.minutes(5),
        )
        self.interrupt = self._function(
            "interrupt",
            environment={"BELAY_CLUSTER": compute.cluster.cluster_arn},
            allowed=[compute.may_list_instances(), compute.may_list_tasks(), compute.may_stop_tasks()],
        )
        train, teardown = self._machine_arn(train_name(settings)), self._machine_arn(teardown_name(settings))
        looked_for = ("run.json", "ledger.json", "certificate.json")
        self.sweep = self._function(
            "sweep",
            environment={
                **in_bucket,
                **deployed,
                **tells,
                "BELAY_TRAIN_MACHINE_ARN": train,
                "BELAY_TEARDOWN_MACHINE_ARN": teardown,
            },
            allowed=[
                see_file_systems,
                _may_look_for(bucket, *looked_for),
                read(*looked_for),
                *tell,
                _allow("states:DescribeExecution", self._executions_of(train_name(settings))),
                _allow("states:DescribeExecution", self._executions_of(teardown_name(settings))),
                _allow("states:ListExecutions", train, teardown),
                _allow("states:StartExecution", teardown),
            ],
            timeout=Duration.minutes(5),
        )
        self.pump = self._function(
            "pump",
            environment={**in_bucket, **deployed, **tells, **trainer_log},
            allowed=[
                see_file_systems,
                see_file_system_tasks,
                *ownership.may_export(),
                *verifying,
                read("run.json"),
                *tell,
            ],
            memory_mib=1024,
            timeout=Duration.minutes(10),
        )
        for function in (self.accept, self.find, self.verify, self.certify, self.sweep, self.pump):
            for statement in may_use(key, through="s3"):
                function.add_to_role_policy(statement)

    @property
    def all(self) -> list[lambda_.Function]:
        return [child for child in self.node.children if isinstance(child, lambda_.Function)]

    def _both_arns_of(self, log_group: logs.ILogGroup) -> list[str]:
        """AWS's documents name a log group with `:*` for streams and without for the group; reading may mean either."""
        bare = Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=log_group.log_group_name,
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        return [bare, log_group.log_group_arn]

    # The machines ask these functions, so here they can only be known by the names that they will have.

    def _machine_arn(self, name: str) -> str:
        return self._states_arn("stateMachine", name)

    def _executions_of(self, machine: str) -> str:
        return self._states_arn("execution", f"{machine}:*")

    def _states_arn(self, resource: str, name: str) -> str:
        return Stack.of(self).format_arn(
            service="states", resource=resource, resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
        )

    def _function(
        self,
        name: str,
        *,
        allowed: Sequence[iam.PolicyStatement],
        environment: dict[str, str] | None = None,
        memory_mib: int = 256,
        timeout: Duration | None = None,
    ) -> lambda_.Function:
        log_group = logs.LogGroup(
            self, f"{name}-log", retention=self._settings.log_retention, removal_policy=RemovalPolicy.DESTROY
        )
        role = iam.Role(self, f"{name}-role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        log_group.grant_write(role)
        function = lambda_.Function(
            self,
            name,
            function_name=f"{self._settings.deployment}-{name.replace('_', '-')}",
            runtime=lambda_.Runtime.PYTHON_3_14,
            architecture=lambda_.Architecture.ARM_64,
            code=self._code,
            handler=f"lambdas.{name}.handler",
            layers=[self._layer],
            role=role,
            log_group=log_group,
            tracing=lambda_.Tracing.ACTIVE,
            memory_size=memory_mib,
            timeout=timeout or Duration.minutes(1),
            environment={
                "POWERTOOLS_SERVICE_NAME": self._settings.deployment,
                "POWERTOOLS_METRICS_NAMESPACE": "Belay",
                **(environment or {}),
            },
        )
        for statement in allowed:
            function.add_to_role_policy(statement)
        return function


def train_name(settings: Settings) -> str:
    return f"{settings.deployment}-train"


def teardown_name(settings: Settings) -> str:
    return f"{settings.deployment}-teardown"


def _allow(action: str, *resources: str) -> iam.PolicyStatement:
    return iam.PolicyStatement(actions=[action], resources=list(resources))


def _may_look_for(bucket: s3.IBucket, *keys: str) -> iam.PolicyStatement:
    """Whether a run has such an object, and nothing else of what the bucket holds."""
    names = [f"jobs/*/{key}" for key in keys]
    return iam.PolicyStatement(
        actions=["s3:ListBucket"], resources=[bucket.bucket_arn], conditions={"StringLike": {"s3:prefix": names}}
    )
