"""What AwsSolutions finds and we leave as it is, each with its reason. Anything else it finds stops the synth."""

from aws_cdk import Acknowledgment, CfnElement, Validations
from constructs import IConstruct

from stacks.data import DataStack
from stacks.settings import Settings
from stacks.training import TrainingStack

# Who holds a statement on `*`, and why no narrower resource would do.
_ON_EVERYTHING = {
    "Teardown/Machine/Role": "X-Ray and log delivery know no resources.",
    "DeployCheck/deploy_check-role": "X-Ray knows no resources.",
    "Train/Machine/Role": "X-Ray, log delivery and the look at the network know no resources.",
}
_FUNCTION_ON_EVERYTHING = (
    "X-Ray, fsx:Describe*, instance types and the listing of tasks know no resources; nothing is changed by any."
)
_UNKNOWN_IDS = "The ids are not known before a job runs; tag and cluster conditions hold the statement to our own."
_KEYS_OF_RUNS = "Runs come and go below jobs/; what follows says which of their objects."
_OWN_VERSIONS = "The versions of this one function, as CDK grants invoking it."


_AS_FSX_ASKS = "FSx wants exactly these of who links a bucket; the machine has no other state that calls S3."


def acknowledge(data: DataStack, training: TrainingStack, settings: Settings) -> None:
    _say(data, "S1", "By setting (audit); the bucket that then holds the records keeps none of itself.")
    _say(training, "SQS3", "It is itself a dead-letter queue, and an alarm watches it.")
    _say(training, "AS3", "Instances come and go with every job; the runs' own events tell more.")
    for path, reason in _ON_EVERYTHING.items():
        _say(_at(training, path), "IAM5[Resource::*]", reason)
    for finding in training.backend.findings():
        _say(finding.at, finding.rule, finding.reason)
    for resource in _unknown_ids(training):
        _say(training, f"IAM5[Resource::{resource}]", _UNKNOWN_IDS)
    for key in (
        "run.json",
        "ledger.json",
        "pump.json",
        "certificate.json",
        "events.jsonl",
        "events/*",
        "checkpoints/*",
    ):
        _say(training, f"IAM5[Resource::{_bucket_as_nag_sees_it(data)}/jobs/*/{key}]", _KEYS_OF_RUNS)
    for action in ("s3:Get*", "s3:List*"):
        _say(_at(training, "Train/Machine/Role"), f"IAM5[Action::{action}]", _AS_FSX_ASKS)
    linked = [_bucket_as_nag_sees_it(data), *(f"arn:<AWS::Partition>:s3:::{name}" for name in settings.dataset_buckets)]
    for bucket in linked:
        _say(_at(training, "Train/Machine/Role"), f"IAM5[Resource::{bucket}/*]", _AS_FSX_ASKS)
    for function in training.functions.all:
        _say(_at(training, f"Functions/{function.node.id}-role"), "IAM5[Resource::*]", _FUNCTION_ON_EVERYTHING)
        _say(training, f"IAM5[Resource::<{_logical_id(function)}.Arn>:*]", _OWN_VERSIONS)


def _unknown_ids(training: TrainingStack) -> list[str]:
    here = "<AWS::Region>:<AWS::AccountId>"
    fsx = f"arn:<AWS::Partition>:fsx:{here}"
    roles = "arn:<AWS::Partition>:iam::<AWS::AccountId>:role/aws-service-role"
    executions = f"arn:<AWS::Partition>:states:{here}:execution"
    teardown = _logical_id(training.teardown.machine)
    return [
        f"{fsx}:file-system/*",
        f"{fsx}:association/*",
        f"{fsx}:task/*",
        f"{roles}/fsx.amazonaws.com/*",
        f"{roles}/s3.data-source.lustre.fsx.amazonaws.com/*",
        f"{executions}:{training.train_name}:*",
        f"{executions}:{training.teardown_name}:*",
        f'{executions}:{{"Fn::Select":[6,{{"Fn::Split":[":",{{"Ref":"{teardown}"}}]}}]}}*',
    ]


def _bucket_as_nag_sees_it(data: DataStack) -> str:
    return str(data.resolve(data.export_value(data.bucket.bucket_arn))["Fn::ImportValue"])


def _logical_id(construct: IConstruct) -> str:
    element = construct.node.default_child
    assert isinstance(element, CfnElement)
    return str(element.stack.resolve(element.logical_id))


def _at(stack: TrainingStack, path: str) -> IConstruct:
    construct: IConstruct = stack
    for part in path.split("/"):
        construct = construct.node.find_child(part)
    return construct


def _say(construct: IConstruct, rule: str, reason: str) -> None:
    Validations.of(construct).acknowledge(Acknowledgment(id=f"AwsSolutions::AwsSolutions-{rule}", reason=reason))
