"""What Teardown alone asks."""

from aws_cdk import Duration

from belay.contract.messages.probes import ExportPhaseQuestion, ProbeAnswer
from belay.contract.messages.teardown import (
    CertifyAnswer,
    CertifyQuestion,
    FindAnswer,
    FindQuestion,
    VerifyAnswer,
    VerifyQuestion,
)
from stacks.functions.factory import FunctionFactory
from stacks.functions.flow_function import FlowFunction
from stacks.functions.resources import Resources, train_name


class TeardownFunctions:
    def __init__(self, make: FunctionFactory, resources: Resources) -> None:
        export_phase = make.function("teardown.export_phase", allowed=[resources.see_file_system_tasks])
        find = make.function(
            "teardown.find",
            environment={**resources.in_bucket, **resources.deployed, **resources.tasks.environment},
            allowed=[
                resources.see_file_systems,
                *resources.tasks.allowed,
                resources.list_runs,
                resources.read("run.json", "ledger.json", "certificate.json"),
                resources.describe_executions_of(train_name(resources.settings)),
            ],
        )
        verify = make.function(
            "teardown.verify",
            environment={**resources.in_bucket, **resources.trainer_log},
            allowed=[*resources.verifying, resources.read("events/*")],
            memory_mib=1024,
            timeout=Duration.minutes(10),
        )
        certify = make.function(
            "teardown.certify",
            environment={**resources.in_bucket, **resources.trainer_log},
            allowed=[
                resources.list_runs,
                resources.read("run.json", "ledger.json", "certificate.json", "events.jsonl", "events/*"),
                resources.read_trainer_log,
                resources.write("certificate.json", "events.jsonl"),
            ],
            memory_mib=512,
            timeout=Duration.minutes(5),
        )

        self.export_phase = FlowFunction(export_phase, ExportPhaseQuestion, ProbeAnswer)
        self.find = FlowFunction(find, FindQuestion, FindAnswer)
        self.verify = FlowFunction(verify, VerifyQuestion, VerifyAnswer)
        self.certify = FlowFunction(certify, CertifyQuestion, CertifyAnswer)
