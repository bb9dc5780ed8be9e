"""What AWS answers before anything is paid for: validations, simulations, prices. Each call is free, or next to it."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from belay.aws.clients import error_code
from belay.aws.deployment import Clients
from belay.client.live import job
from belay.client.live.seen import Definition, Right, Seen, StateResult
from belay.contract import tags
from belay.contract.deployment import Deployment
from belay.contract.states import TeardownState, TrainState

_NO_FILE_SYSTEM = "fs-00000000000000000"
_NO_SUBNET = "subnet-00000000000000000"
# Asked of AWS by nobody else: a name that no later version of FSx will have.
_NO_MEMBER = "BelayDoctorAsksForNothing"
_OF_MACHINES = ("definitions", "link_without_file_system", "delete_without_file_system", "fault_in_output", "rights")
_ON_THE_BUCKET, _ON_OBJECTS = ("s3:ListBucket", "s3:GetBucketAcl"), ("s3:GetObject", "s3:PutObject")
_ON_THE_ROLE = ("iam:CreateServiceLinkedRole", "iam:AttachRolePolicy", "iam:PutRolePolicy")
_ROLE_OF_FSX = "role/aws-service-role/s3.data-source.lustre.fsx.amazonaws.com/AWSServiceRoleForFSxS3Access_fs-0"


def note(seen: Seen, names: Sequence[str], look: Callable[[], None]) -> None:
    """Whatever goes wrong in a look is why these are not known.

    An answer of another form than expected is news of AWS too, and must not hide what the other questions find.
    """
    try:
        look()
    except (ClientError, BotoCoreError) as error:
        seen.unseen |= dict.fromkeys(names, str(error))
    except Exception as error:
        seen.unseen |= dict.fromkeys(names, f"the answer is not as expected: {type(error).__name__}: {error}")


def keep(seen: Seen, name: str, ask: Callable[[], Any]) -> None:
    """The answer becomes the field of this name."""
    note(seen, (name,), lambda: setattr(seen, name, ask()))


class Machine:
    """A state machine as it is deployed."""

    def __init__(self, states: Any, arn: str, *, name: str) -> None:
        described = states.describe_state_machine(stateMachineArn=arn)
        self.name, self.role, self._text = name, str(described["roleArn"]), described["definition"]
        self._states, self._definition = states, json.loads(described["definition"])

    def validate(self) -> Definition:
        answer = self._states.validate_state_machine_definition(definition=self._text, severity="ERROR")
        said = [f"{one['code']}: {one['message']}" for one in answer["diagnostics"] if one["severity"] == "ERROR"]
        return Definition(machine=self.name, errors=said)

    def test(self, name: str, variables: dict[str, Any]) -> StateResult:
        """One state with its role, and without its Retry and Catch: they would take the error's place."""
        state = {key: value for key, value in self._definition["States"][name].items() if key not in ("Retry", "Catch")}
        return self._test({"QueryLanguage": self._definition["QueryLanguage"], **state}, variables)

    def test_fault_in_output(self) -> StateResult:
        partition = self.role.split(":")[1]
        state = {
            "Type": "Task",
            "QueryLanguage": "JSONata",
            "Resource": f"arn:{partition}:states:::aws-sdk:sts:getCallerIdentity",
            "Arguments": {},
            "Output": "{% $error('a fault in Output') %}",
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Caught"}],
            "Next": "Done",
        }
        return self._test(state, {})

    def _test(self, state: dict[str, Any], variables: dict[str, Any]) -> StateResult:
        answer = self._states.test_state(
            definition=json.dumps(state), roleArn=self.role, input="{}", variables=json.dumps(variables)
        )
        return StateResult(status=answer["status"], error=answer.get("error"), cause=answer.get("cause"))


def ask_before(clients: Clients, deployment: Deployment, seen: Seen) -> None:
    """Whatever is refused leaves the others."""
    seen.region = clients("fsx").meta.region_name
    seen.unseen["put_object"] = "a role without this right would be needed: Belay makes none"
    seen.unseen["export_beside_another_task"] = "no other task was seen while it was active"
    seen.unseen["task_that_fits_nowhere"] = "it is not tried: instances could be started for it"
    note(seen, _OF_MACHINES, lambda: _ask_of_machines(clients, deployment, seen))
    keep(seen, "unknown_member", lambda: _unknown_member(clients("fsx")))
    prices = deployment.prices
    seen.file_system_price_assumed, seen.instance_price_assumed = prices.scratch_gib_month, prices.instance_hour
    keep(seen, "file_system_prices", lambda: _file_system_prices(clients("pricing"), seen.region))
    keep(
        seen,
        "instance_prices",
        lambda: _instance_prices(clients("pricing"), seen.region, deployment.instance_type),
    )


def _ask_of_machines(clients: Clients, deployment: Deployment, seen: Seen) -> None:
    states = clients("stepfunctions")
    train = Machine(states, deployment.train_machine_arn, name="Train")
    teardown = Machine(states, deployment.teardown_machine_arn, name="Teardown")
    keep(seen, "definitions", lambda: [train.validate(), teardown.validate()])
    keep(seen, "link_without_file_system", lambda: _link(train, deployment))
    keep(seen, "delete_without_file_system", lambda: _delete(teardown))
    keep(seen, "fault_in_output", train.test_fault_in_output)
    keep(seen, "rights", lambda: list(_rights(clients("iam"), train, deployment)))


def export_beside(clients: Clients, deployment: Deployment, file_system_id: str) -> StateResult:
    """An export, asked for while another task is on its way: FSx has one place. Should that task have ended, this one
    exports what the next one would have."""
    teardown = Machine(clients("stepfunctions"), deployment.teardown_machine_arn, name="Teardown")
    return teardown.test(TeardownState.EXPORT_TO_S3, {"found": _found(file_system_id), "proofs": 0})


def _link(train: Machine, deployment: Deployment) -> StateResult:
    link = {
        "FileSystemPath": "/run",
        "DataRepositoryPath": f"s3://{deployment.bucket}/{job.PREFIX}",
        "Tags": [{"Key": tags.DEPLOYMENT, "Value": deployment.name}],
        "ClientRequestToken": "belay-doctor",
    }
    variables = {"file_system_id": _NO_FILE_SYSTEM, "request": {"links": [link]}, "links_made": 0, "relinks": 0}
    return train.test(TrainState.LINK_A_FOLDER, variables)


def _delete(teardown: Machine) -> StateResult:
    return teardown.test(TeardownState.DELETE_FILE_SYSTEM, {"found": _found(_NO_FILE_SYSTEM)})


def _found(file_system_id: str) -> dict[str, Any]:
    return {"file_system": {"id": file_system_id}}


def _rights(iam: Any, train: Machine, deployment: Deployment) -> Iterator[Right]:
    partition, account = train.role.split(":")[1], train.role.split(":")[4]
    bucket = f"arn:{partition}:s3:::{deployment.bucket}"
    asked = (
        ("bucket", bucket, _ON_THE_BUCKET),
        ("objects", f"{bucket}/{job.PREFIX}inspection.py", _ON_OBJECTS),
        ("role of FSx", f"arn:{partition}:iam::{account}:{_ROLE_OF_FSX}", _ON_THE_ROLE),
    )
    for on, resource, actions in asked:
        answer = iam.simulate_principal_policy(
            PolicySourceArn=train.role, ActionNames=list(actions), ResourceArns=[resource]
        )
        for one in answer["EvaluationResults"]:
            yield Right(action=one["EvalActionName"], on=on, decision=one["EvalDecision"])


def _unknown_member(fsx: Any) -> str:
    """The request names a subnet that does not exist, so that nothing is ever made."""

    def add(params: dict[str, Any], **_rest: Any) -> None:
        params["body"] = json.dumps({**json.loads(params["body"]), _NO_MEMBER: "1"}).encode()

    event = "before-call.fsx.CreateFileSystem"
    fsx.meta.events.register(event, add)
    try:
        fsx.create_file_system(FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=[_NO_SUBNET])
    except ClientError as error:
        if error_code(error) in ("NotImplemented", "AccessDeniedException", "AccessDenied"):
            raise
        return f"{error_code(error)}: {error.response['Error']['Message']}"
    finally:
        fsx.meta.events.unregister(event, add)
    return "none: it was accepted"


def _file_system_prices(pricing: Any, region: str) -> list[float]:
    """Every price of storage for Lustre: the list does not say "SCRATCH_2" in words that last."""
    return _listed(pricing, "AmazonFSx", "GB-Mo", regionCode=region, fileSystemType="Lustre")


def _instance_prices(pricing: Any, region: str, instance_type: str) -> list[float]:
    return _listed(
        pricing,
        "AmazonEC2",
        "Hrs",
        regionCode=region,
        instanceType=instance_type,
        operatingSystem="Linux",
        tenancy="Shared",
        preInstalledSw="NA",
        capacitystatus="Used",
    )


def _listed(pricing: Any, service: str, unit: str, **fields: str) -> list[float]:
    filters = [{"Type": "TERM_MATCH", "Field": name, "Value": value} for name, value in fields.items()]
    pages = pricing.get_paginator("get_products").paginate(ServiceCode=service, Filters=filters)
    found = {
        float(dimension["pricePerUnit"]["USD"])
        for page in pages
        for product in map(json.loads, page["PriceList"])
        for term in product["terms"].get("OnDemand", {}).values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"] == unit and "USD" in dimension["pricePerUnit"]
    }
    return sorted(price for price in found if price)
