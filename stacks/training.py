"""The training stack: network, GPUs, Lambdas, the two state machines and what watches over them. Wiring only."""

from aws_cdk import Aspects, CfnOutput, Stack, Tags
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.compute import Compute
from stacks.console.alarms import Alarms
from stacks.console.dashboard import dashboard
from stacks.console.measures import Measures
from stacks.console.queries import queries
from stacks.encryption import EncryptedWith
from stacks.functions import Functions, teardown_name, train_name
from stacks.network import Network
from stacks.notices import Notices
from stacks.safety import Interruption, Pump, Rescue, Sweep
from stacks.settings import Settings
from stacks.workflow.ownership import Ownership
from stacks.workflow.teardown import TeardownMachine
from stacks.workflow.train import TrainMachine


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
        network = Network(self, "Network", settings=settings)
        self.compute = Compute(self, "Compute", network=network, settings=settings)
        self.functions = Functions(
            self,
            "Functions",
            bucket=bucket,
            key=key,
            compute=self.compute,
            ownership=ownership,
            notices=notices.topic,
            settings=settings,
        )
        self.train_name, self.teardown_name = train_name(settings), teardown_name(settings)
        self.teardown = TeardownMachine(
            self,
            "Teardown",
            name=self.teardown_name,
            functions=self.functions,
            compute=self.compute,
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
            compute=self.compute,
            network=network,
            ownership=ownership,
            key=key,
            teardown=self.teardown.machine,
            log_retention=settings.log_retention,
        )
        Pump(self, "Pump", function=self.functions.pump)
        Interruption(self, "Interruption", function=self.functions.interrupt)
        Sweep(self, "Sweep", function=self.functions.sweep)
        rescue = Rescue(self, "Rescue", train=train.machine, teardown=self.teardown.machine)

        measures = Measures(settings.deployment)
        alarms = Alarms(
            self,
            "Alarms",
            measures=measures,
            teardown=self.teardown.machine,
            undelivered=rescue.undelivered,
            looking_after=[self.functions.pump, self.functions.sweep, self.functions.interrupt],
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
            trainer_log=self.compute.log_group,
            function_logs=[function.log_group for function in self.functions.all],
        )

        CfnOutput(self, "TrainMachineArn", value=train.machine.state_machine_arn)
        CfnOutput(self, "BucketName", value=bucket.bucket_name)
