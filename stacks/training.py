"""The training stack: network, GPUs, Lambdas, the two state machines and what watches over them. Wiring only."""

from aws_cdk import Aspects, CfnOutput, Stack, Tags
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from belay import __version__
from belay.contract.deployment import Deployment
from belay.contract.messages import MESSAGES_VERSION
from stacks.backends import TrainingBackend
from stacks.backends.base import Backend
from stacks.console.alarms import Alarms
from stacks.console.dashboard import dashboard, dashboard_url
from stacks.console.measures import Measures
from stacks.console.queries import queries
from stacks.deploy_check import DeployCheck
from stacks.described import describe
from stacks.encryption import EncryptedWith
from stacks.flows.links import may_reach
from stacks.flows.teardown import TeardownMachine
from stacks.flows.train import TrainMachine
from stacks.functions.functions import Functions
from stacks.functions.resources import teardown_name, train_name
from stacks.network import Network
from stacks.notices import Notices
from stacks.ownership import Ownership
from stacks.safety import Interruption, Pump, Reread, Rescue, Sweep
from stacks.settings import Settings


class TrainingStack(Stack):
    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket,
        key: kms.IKey | None,
        settings: Settings,
        description: str,
    ) -> None:
        super().__init__(scope, id, description=description)
        Tags.of(self).add("belay:deployment", settings.deployment)
        if key:
            Aspects.of(self).add(EncryptedWith(key))

        ownership = Ownership(self, settings.deployment)
        notices = Notices(self, "Notices", email=settings.notice_email)
        network = Network(self, "Network", settings=settings, endpoints=TrainingBackend.endpoints)
        self.backend: Backend = TrainingBackend(self, "Compute", network=network, settings=settings)
        self.functions = Functions(
            self,
            "Functions",
            bucket=bucket,
            key=key,
            backend=self.backend,
            ownership=ownership,
            notices=notices.topic,
            settings=settings,
        )
        check = DeployCheck(self, "DeployCheck", settings=settings)
        check.comes_before(self.functions)
        self.train_name, self.teardown_name = train_name(settings), teardown_name(settings)
        self.teardown = TeardownMachine(
            self,
            "Teardown",
            name=self.teardown_name,
            functions=self.functions,
            backend=self.backend,
            ownership=ownership,
            notices=notices.topic,
            key=key,
            log_retention=settings.log_retention,
        )
        train = TrainMachine(
            self,
            "Train",
            name=self.train_name,
            functions=self.functions,
            backend=self.backend,
            network=network,
            ownership=ownership,
            key=key,
            allowed_on_s3=may_reach(bucket, settings.dataset_buckets, key),
            teardown=self.teardown.machine,
            log_retention=settings.log_retention,
        )
        check.comes_before(self.teardown, train)
        Pump(self, "Pump", function=self.functions.safety.pump)
        Interruption(self, "Interruption", function=self.functions.safety.interrupt)
        Sweep(self, "Sweep", function=self.functions.safety.sweep)
        Reread(self, "Reread", function=self.functions.safety.reread, enabled=settings.reread_gib_a_day > 0)
        rescue = Rescue(self, "Rescue", train=train.machine, teardown=self.teardown.machine)

        measures = Measures(settings.deployment)
        alarms = Alarms(
            self,
            "Alarms",
            measures=measures,
            teardown=self.teardown.machine,
            undelivered=rescue.undelivered,
            looking_after=[
                self.functions.safety.pump,
                self.functions.safety.sweep,
                self.functions.safety.interrupt,
                self.functions.safety.reread,
            ],
            notices=notices.topic,
        )
        dashboard(
            self,
            deployment=settings.deployment,
            measures=measures,
            alarms=alarms.all,
            train=train.machine,
            undelivered=rescue.undelivered,
        )
        queries(
            self,
            deployment=settings.deployment,
            trainer_log=self.backend.log_group,
            function_logs=[function.log_group for function in self.functions.all],
        )

        describe(
            self,
            Deployment(
                belay_version=__version__,
                messages_version=MESSAGES_VERSION,
                name=settings.deployment,
                bucket=bucket.bucket_name,
                train_machine_arn=train.machine.state_machine_arn,
                teardown_machine_arn=self.teardown.machine.state_machine_arn,
                trainer_log_group=self.backend.log_group.log_group_name,
                tasks=self.backend.tasks(),
                instance_type=settings.instance_type,
                availability_zone=network.subnet.availability_zone,
                prices=settings.prices,
                notices_topic_arn=notices.topic.topic_arn,
                dashboard_url=dashboard_url(settings.deployment),
            ),
        )
        CfnOutput(self, "TrainMachineArn", value=train.machine.state_machine_arn)
        CfnOutput(self, "BucketName", value=bucket.bucket_name)
