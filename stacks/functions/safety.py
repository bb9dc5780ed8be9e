"""What no flow asks: started by schedules, and by EC2's warning that a Spot instance goes."""

from aws_cdk import Duration

from belay.contract.max_loss import PUMP_AT_MOST
from stacks.functions.factory import FunctionFactory
from stacks.functions.resources import Resources, allow, teardown_name, train_name

_OF_A_RUN = ("run.json", "ledger.json", "certificate.json")


class SafetyFunctions:
    def __init__(self, make: FunctionFactory, resources: Resources) -> None:
        train, teardown = train_name(resources.settings), teardown_name(resources.settings)
        self.interrupt = make.function(
            "safety.interrupt",
            environment=resources.instances.environment,
            allowed=resources.instances.allowed,
        )
        self.sweep = make.function(
            "safety.sweep",
            environment={
                **resources.in_bucket,
                **resources.deployed,
                **resources.mails,
                "BELAY_TRAIN_MACHINE_ARN": resources.machine(train),
                "BELAY_TEARDOWN_MACHINE_ARN": resources.machine(teardown),
            },
            allowed=[
                resources.see_file_systems,
                resources.look_for(*_OF_A_RUN),
                resources.read(*_OF_A_RUN),
                *resources.mail,
                resources.describe_executions_of(train),
                resources.describe_executions_of(teardown),
                allow("states:ListExecutions", resources.machine(train), resources.machine(teardown)),
                allow("states:StartExecution", resources.machine(teardown)),
            ],
            timeout=Duration.minutes(5),
        )
        self.reread = make.function(
            "safety.reread",
            environment={
                **resources.in_bucket,
                **resources.mails,
                "BELAY_REREAD_GIB_A_DAY": str(resources.settings.reread_gib_a_day),
            },
            allowed=[
                resources.list_runs,
                resources.read("ledger.json", "checkpoints/*"),
                resources.write("ledger.json"),
                *resources.reread_document,
                *resources.mail,
            ],
            # Lambda's network grows with its memory, up to about this.
            memory_mib=1792,
            timeout=Duration.minutes(15),
        )
        self.pump = make.function(
            "safety.pump",
            environment={**resources.in_bucket, **resources.deployed, **resources.mails, **resources.trainer_log},
            allowed=[
                resources.see_file_systems,
                resources.see_file_system_tasks,
                *resources.ownership.may_export(),
                *resources.verifying,
                resources.read("run.json", "pump.json"),
                resources.write("pump.json"),
                *resources.mail,
            ],
            memory_mib=1024,
            timeout=Duration.seconds(PUMP_AT_MOST.total_seconds()),
        )
