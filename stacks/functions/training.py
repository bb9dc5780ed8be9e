"""What Train asks; Teardown asks some of it too."""

from belay.contract.messages.probes import (
    LinkPhaseQuestion,
    ProbeAnswer,
    ScratchPhaseAnswer,
    ScratchPhaseQuestion,
    TrainingPhaseAnswer,
    TrainingPhaseQuestion,
)
from belay.contract.messages.training import (
    AcceptAnswer,
    AcceptQuestion,
    JudgeAnswer,
    JudgeQuestion,
    MarkAnswer,
    MarkQuestion,
)
from stacks.functions.factory import FunctionFactory
from stacks.functions.flow_function import FlowFunction
from stacks.functions.resources import Resources, allow


class TrainingFunctions:
    def __init__(self, make: FunctionFactory, resources: Resources) -> None:
        settings = resources.settings
        accept = make.function(
            "training.accept",
            environment={
                **resources.in_bucket,
                **resources.deployed,
                "BELAY_INSTANCE_TYPE": settings.instance_type,
                "BELAY_DATASET_BUCKETS": ",".join(settings.dataset_buckets),
                "BELAY_PRICES": settings.prices.model_dump_json(),
            },
            allowed=[
                resources.list_runs_and_data(),
                resources.read("run.json", "ledger.json", "checkpoints/*"),
                resources.write("run.json"),
                allow("ec2:DescribeInstanceTypes", "*"),
                *resources.see_vcpu_quotas(),
            ],
        )
        scratch_phase = make.function("training.scratch_phase", allowed=[resources.see_file_systems])
        link_phase = make.function(
            "training.link_phase",
            environment=resources.in_bucket,
            allowed=[
                allow("fsx:DescribeDataRepositoryAssociations", "*"),
                resources.see_file_system_tasks,
                resources.list_runs,
            ],
        )
        training_phase = make.function(
            "training.training_phase", environment=resources.tasks.environment, allowed=resources.tasks.allowed
        )
        mark = make.function("training.mark", allowed=resources.ownership.may_mark())
        judge = make.function("training.judge", allowed=[])

        self.accept = FlowFunction(accept, AcceptQuestion, AcceptAnswer)
        self.scratch_phase = FlowFunction(scratch_phase, ScratchPhaseQuestion, ScratchPhaseAnswer)
        self.link_phase = FlowFunction(link_phase, LinkPhaseQuestion, ProbeAnswer)
        self.training_phase = FlowFunction(training_phase, TrainingPhaseQuestion, TrainingPhaseAnswer)
        self.mark = FlowFunction(mark, MarkQuestion, MarkAnswer)
        self.judge = FlowFunction(judge, JudgeQuestion, JudgeAnswer)
