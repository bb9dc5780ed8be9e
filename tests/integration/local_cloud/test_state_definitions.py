"""State machines that AWS does not create are not created here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tools.definitions.creation import refusals

from .machines import Machine, Machines, say

DONE: Machine = {"Type": "Pass", "End": True}
LONG = "x" * 81
SLEEP: Machine = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:fsx:describeFileSystems", "End": True}
RUN: Machine = {"Type": "Task", "Resource": "arn:aws:states:::ecs:runTask.sync", "End": True}


def machine(start_at: str, **states: Machine) -> Machine:
    return {"QueryLanguage": "JSONata", "StartAt": start_at, "States": states}


def block(**states: Machine) -> Machine:
    return {"StartAt": next(iter(states)), "States": states}


def both(*branches: Machine, **more: Any) -> Machine:
    return {"Type": "Parallel", "Branches": list(branches), "End": True, **more}


# What is wrong, and AWS's words for it.
REFUSED: dict[str, tuple[Machine, str]] = {
    "no states": ({"StartAt": "A"}, "SCHEMA_VALIDATION_FAILED: These fields are required: [States] at /"),
    "an unknown type": (
        machine("A", A={"Type": "Sleep", "End": True}),
        "SCHEMA_VALIDATION_FAILED: The field 'Type' should have one of these values: "
        "[Task, Wait, Pass, Succeed, Fail, Choice, Parallel, Map] at /States/A/Type",
    ),
    "no branches": (machine("A", A=both()), "SCHEMA_VALIDATION_FAILED: Value cannot be empty at /States/A/Branches"),
    "a name of 81 characters": (
        machine(LONG, **{LONG: DONE}),
        f"INVALID_STATE_NAME: Invalid State name: State '{LONG}' exceeds the 80-character limit "
        f"allowed by the service at /States/{LONG}",
    ),
    "a name in two branches": (
        machine("A", A=both(block(B=DONE), block(B=DONE))),
        "DUPLICATE_STATE_NAME: Duplicate State name: B at /States/A/Branches[1]/States/B",
    ),
    "a name inside and outside": (
        machine("A", A=both(block(A=DONE))),
        "DUPLICATE_STATE_NAME: Duplicate State name: A at /States/A/Branches[0]/States/A",
    ),
    "a target and a state that nothing enters": (
        machine("A", A={"Type": "Pass", "Next": "C"}, B=DONE),
        "MISSING_TRANSITION_TARGET: Missing 'Next' target: C at /States/A/Next, "
        'MISSING_TRANSITION_TARGET: State "B" is not reachable. at /States/B',
    ),
    "a start that is not there": (
        machine("Z", A=DONE),
        "MISSING_TRANSITION_TARGET: Missing 'Next' target: Z at /StartAt, "
        'MISSING_TRANSITION_TARGET: State "A" is not reachable. at /States/A',
    ),
    "a target outside of the branch": (
        machine("A", A=both(block(B={"Type": "Pass", "Next": "A"}))),
        "MISSING_TRANSITION_TARGET: Missing 'Next' target: A at /States/A/Branches[0]/States/B/Next",
    ),
    "a catch and a default to nowhere": (
        machine(
            "A",
            A=both(block(B=DONE), Catch=[{"ErrorEquals": ["States.ALL"], "Next": "Y"}], Next="C") | {"End": False},
            C={"Type": "Choice", "Choices": [{"Condition": "{% true %}", "Next": "C"}], "Default": "X"},
        ),
        "MISSING_TRANSITION_TARGET: Missing 'Next' target: Y at /States/A/Catch[0]/Next, "
        "MISSING_TRANSITION_TARGET: Missing 'Next' target: X at /States/C/Default",
    ),
    "an outer variable in a branch": (
        machine("A", A={"Type": "Pass", "Assign": {"n": 1}, "Next": "B"}, B=both(block(C=DONE | {"Assign": {"n": 2}}))),
        "SCHEMA_VALIDATION_FAILED: B: $n hides the one outside at /",
    ),
    "an expression that does not parse": (machine("A", A=say({"v": "{% a[1,2) %}"})), " at /States/A/Output/v"),
    "an error where there is none": (
        machine("A", A=say("{% $states.errorOutput %}")),
        "UNSUPPORTED_JSONATA_EXPRESSION: Field '$states.errorOutput' does not exist. at /States/A/Output",
    ),
    "a lower-case parameter": (
        machine("A", A=SLEEP | {"Arguments": {"fileSystemIds": []}}),
        'SCHEMA_VALIDATION_FAILED: The field "fileSystemIds" is not supported by Step Functions at /States/A/Arguments',
    ),
    "a lower-case parameter deep inside": (
        machine("A", A=RUN | {"Arguments": {"Overrides": {"ContainerOverrides": [{"name": "trainer"}]}}}),
        'SCHEMA_VALIDATION_FAILED: The field "name" is not supported by Step Functions at '
        "/States/A/Arguments/Overrides/ContainerOverrides[0]",
    ),
    "a parameter that the API has not": (
        machine("A", A=SLEEP | {"Arguments": {"Ids": []}}),
        'SCHEMA_VALIDATION_FAILED: The field "Ids" is not supported by Step Functions at /States/A/Arguments',
    ),
    "an action with a capital": (
        machine("A", A=SLEEP | {"Resource": "arn:aws:states:::aws-sdk:fsx:DescribeFileSystems"}),
        "SCHEMA_VALIDATION_FAILED: The resource provided arn:aws:states:::aws-sdk:fsx:DescribeFileSystems is not "
        "recognized. The value is not a valid resource ARN, or the resource is not available in this region. "
        "at /States/A/Resource",
    ),
    "a field that the language has not": (machine("A", A=DONE | {"Retries": 3}), "SCHEMA_VALIDATION_FAILED"),
}


@pytest.mark.parametrize("fault", REFUSED)
def test_a_definition_that_aws_refuses_makes_no_machine(machines: Machines, fault: str) -> None:
    definition, words = REFUSED[fault]
    name = f"refused-{list(REFUSED).index(fault)}"
    with pytest.raises(ClientError) as raised:
        machines.states.create_state_machine(name=name, definition=json.dumps(definition), roleArn=machines.role)
    error = raised.value.response["Error"]
    assert error["Code"] == "InvalidDefinition"
    assert error["Message"].startswith("Invalid State Machine Definition: '")
    assert words in error["Message"]
    assert name not in {one["name"] for one in machines.states.list_state_machines()["stateMachines"]}


@pytest.mark.parametrize(("name", "code"), [("x" * 81, "ValidationException"), ("a b", "InvalidName")])
def test_a_machine_with_such_a_name_is_refused(machines: Machines, name: str, code: str) -> None:
    definition = json.dumps(machine("A", A=DONE))
    with pytest.raises(ClientError) as raised:
        machines.states.create_state_machine(name=name, definition=definition, roleArn=machines.role)
    assert raised.value.response["Error"]["Code"] == code


def test_an_update_to_such_a_definition_leaves_the_machine_as_it_is(machines: Machines) -> None:
    arn = machines.make("Say", {"Say": say(1)})
    bad = json.dumps(machine("A", A={"Type": "Pass", "Next": "C"}))
    with pytest.raises(machines.states.exceptions.InvalidDefinition):
        machines.states.update_state_machine(stateMachineArn=arn, definition=bad)
    assert json.loads(machines.end(machines.start(arn))["output"]) == 1
    with pytest.raises(machines.states.exceptions.MissingRequiredParameter):
        machines.states.update_state_machine(stateMachineArn=arn)


def test_a_definition_can_be_validated_without_a_machine(machines: Machines) -> None:
    validate = machines.states.validate_state_machine_definition
    good = validate(definition=json.dumps(machine("A", A=DONE)))
    assert (good["result"], good["diagnostics"], good["truncated"]) == ("OK", [], False)
    definition, _ = REFUSED["a start that is not there"]
    bad = validate(definition=json.dumps(definition), maxResults=1)
    assert (bad["result"], bad["truncated"]) == ("FAIL", True)
    assert bad["diagnostics"] == [
        {
            "severity": "ERROR",
            "code": "MISSING_TRANSITION_TARGET",
            "message": "Missing 'Next' target: Z",
            "location": "/StartAt",
        }
    ]


def test_a_stack_with_such_a_machine_is_rolled_back(machines: Machines) -> None:
    definition, _ = REFUSED["a name in two branches"]
    properties = {"RoleArn": machines.role, "DefinitionString": json.dumps(definition)}
    template = {"Resources": {"Machine": {"Type": "AWS::StepFunctions::StateMachine", "Properties": properties}}}
    cloudformation = machines.cloud.client("cloudformation")
    cloudformation.create_stack(StackName="refused", TemplateBody=json.dumps(template))
    with pytest.raises(Exception, match="ROLLBACK"):
        cloudformation.get_waiter("stack_create_complete").wait(
            StackName="refused", WaiterConfig={"Delay": 1, "MaxAttempts": 30}
        )
    events = cloudformation.describe_stack_events(StackName="refused")["StackEvents"]
    assert any("DUPLICATE_STATE_NAME" in event.get("ResourceStatusReason", "") for event in events)


def test_computed_arguments_with_a_lower_case_name_fail_the_task(machines: Machines) -> None:
    end = machines.run("A", {"A": SLEEP | {"Arguments": "{% {'fileSystemIds': []} %}"}})
    assert end["error"] == "States.Runtime"
    assert 'could not be used to start the Task: [The field "fileSystemIds" is not supported' in end["cause"]


@pytest.mark.parametrize(
    "definition",
    [
        {"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": 1, "End": True}}},
        {
            "StartAt": "A",
            "States": {
                "A": {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "B"}]},
                "B": {"Type": "Map", "Iterator": block(C=DONE), "End": True},
            },
        },
        # Branches beside each other may use the same variable.
        machine("A", A=both(block(B=DONE | {"Assign": {"n": 1}}), block(C=both(block(D=DONE | {"Assign": {"n": 1}}))))),
        machine("A", A=SLEEP | {"Arguments": "{% $states.input %}"}),
        machine("x" * 80, **{"x" * 80: DONE}),
    ],
)
def test_what_aws_takes_is_not_refused(definition: Machine) -> None:
    assert refusals(json.dumps(definition)) == []
