"""The Amazon States Language, on small state machines made through the API."""

from __future__ import annotations

import json

import pytest

from .conftest import Deployed
from .machines import Machine, Machines, say
from .waiting import eventually


def test_expressions_see_variables_input_context_and_awkward_strings(machines: Machines) -> None:
    states = {
        "Keep": {"Type": "Pass", "Assign": {"text": "{% $states.input.text %}", "none": None}, "Next": "Say"},
        "Say": say(
            {
                "text": "{% $text %}",
                "none": "{% $none %}",
                "name": "{% $states.context.Execution.Name != '' %}",
                "state": "{% $states.context.State.Name %}",
                "keys": "{% $keys({'a': 1, 'b': null}) %}",
                "one": "{% [1] %}",
                "empty": "{% [] %}",
                "hash": "{% $hash('x', 'SHA-256') %}",
                "parsed": "{% $parse('{\"a\": null}') %}",
                "uuid": "{% $length($uuid()) %}",
                "random": "{% $random(7) = $random(7) %}",
            }
        ),
    }
    text = 'a "quoted" \\ line\nand {% not this %}'
    output = json.loads(machines.run("Keep", states, {"text": text})["output"])

    assert output.pop("hash") == "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert output == {
        "text": text,
        "none": None,
        "name": True,
        "state": "Say",
        "keys": ["a", "b"],
        "one": [1],
        "empty": [],
        "parsed": {"a": None},
        "uuid": 36,
        "random": True,
    }


def test_an_undefined_value_fails_the_evaluation_and_can_be_caught(machines: Machines) -> None:
    end = machines.run("Say", {"Say": say("{% $states.input.missing %}")})
    assert (end["status"], end["error"]) == ("FAILED", "States.QueryEvaluationError")
    assert "undefined" in end["cause"]


def test_a_failure_carries_computed_words_and_any_name(machines: Machines) -> None:
    fail = {"Type": "Fail", "Error": "{% 'States.' & 'TaskFailed' %}", "Cause": "{% 'because ' & $states.input.why %}"}
    end = machines.run("Fail", {"Fail": fail}, {"why": "of it"})
    assert (end["error"], end["cause"]) == ("States.TaskFailed", "because of it")


def test_states_all_does_not_catch_states_runtime(machines: Machines) -> None:
    branch = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "States.Runtime", "Cause": "x"}}}
    both = {"Type": "Parallel", "Branches": [branch], "Next": "Said"}
    both["Catch"] = [{"ErrorEquals": ["States.ALL"], "Next": "Said"}]
    assert machines.run("Both", {"Both": both, "Said": say("caught")})["error"] == "States.Runtime"


def test_a_failing_branch_stops_its_sibling_in_a_wait(machines: Machines) -> None:
    sleep = {"StartAt": "Sleep", "States": {"Sleep": {"Type": "Wait", "Seconds": 1_000_000, "End": True}}}
    fail = {"StartAt": "Fail", "States": {"Fail": {"Type": "Fail", "Error": "Mine", "Cause": "first"}}}
    both = {"Type": "Parallel", "Branches": [sleep, fail], "Next": "Said"}
    both["Catch"] = [{"ErrorEquals": ["Mine"], "Output": "{% $states.errorOutput %}", "Next": "Said"}]
    end = machines.run("Both", {"Both": both, "Said": say("{% $states.input %}")})
    assert json.loads(end["output"]) == {"Error": "Mine", "Cause": "first"}


def child_of(machines: Machines) -> tuple[str, Machine]:
    child = machines.make("Sleep", {"Sleep": {"Type": "Wait", "Seconds": 1_000_000, "End": True}})
    call = {"Type": "Task", "Resource": "arn:aws:states:::states:startExecution.sync:2", "End": True}
    call["Arguments"] = {"StateMachineArn": child, "Input": {"from": "{% $states.context.Execution.Id %}"}}
    return child, call


def executions_of(machines: Machines, machine: str) -> list[str]:
    return [one["status"] for one in machines.states.list_executions(stateMachineArn=machine)["executions"]]


def test_a_failing_branch_stops_a_child_execution_of_its_sibling(machines: Machines) -> None:
    child, call = child_of(machines)
    nap = {"Type": "Wait", "Seconds": 400, "Next": "Fail"}
    fail = {"StartAt": "Nap", "States": {"Nap": nap, "Fail": {"Type": "Fail", "Error": "Mine"}}}
    both = {"Type": "Parallel", "Branches": [{"StartAt": "Call", "States": {"Call": call}}, fail], "End": True}
    assert machines.run("Both", {"Both": both})["error"] == "Mine"
    eventually(lambda: executions_of(machines, child) == ["ABORTED"])


def test_stopping_the_parent_stops_the_child(machines: Machines) -> None:
    child, call = child_of(machines)
    parent = machines.start(machines.make("Call", {"Call": call}))
    eventually(lambda: executions_of(machines, child) == ["RUNNING"])
    machines.states.stop_execution(executionArn=parent)
    eventually(lambda: executions_of(machines, child) == ["ABORTED"])
    assert machines.end(parent)["status"] == "ABORTED"


def test_a_child_gives_its_output_as_an_object_and_its_failure_as_a_cause(machines: Machines) -> None:
    child = machines.make("Say", {"Say": say({"n": "{% $states.input.n + 1 %}"})})
    resource = "arn:aws:states:::states:startExecution.sync:2"
    call: Machine = {"Type": "Task", "Resource": resource}
    call["Arguments"] = {"StateMachineArn": child, "Input": {"n": 1}}
    call |= {"Output": "{% $states.result.Output.n %}", "End": True}
    assert machines.run("Call", {"Call": call})["output"] == "2"

    failing = machines.make("Fail", {"Fail": {"Type": "Fail", "Error": "Mine", "Cause": "so it is"}})
    call["Arguments"] = {"StateMachineArn": failing, "Input": {}}
    end = machines.run("Call", {"Call": call})
    assert end["error"] == "States.TaskFailed"
    assert json.loads(end["cause"])["Cause"] == "so it is"


def test_a_map_runs_each_item_and_keeps_the_order(machines: Machines) -> None:
    processor = {"StartAt": "Double", "States": {"Double": say("{% $states.input * 2 %}")}}
    each = {"Type": "Map", "Items": "{% $states.input.items %}", "ItemProcessor": processor, "End": True}
    assert json.loads(machines.run("Each", {"Each": each}, {"items": [1, 2, 3]})["output"]) == [2, 4, 6]
    assert json.loads(machines.run("Each", {"Each": each}, {"items": []})["output"]) == []


def test_a_machine_that_takes_too_long_is_timed_out(machines: Machines) -> None:
    sleep = {"Type": "Wait", "Seconds": 1_000_000, "End": True}
    end = machines.run("Sleep", {"Sleep": sleep}, TimeoutSeconds=1)
    assert end["status"] == "TIMED_OUT"


def test_retries_wait_and_then_give_up_with_the_last_error(machines: Machines) -> None:
    ask = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:fsx:describeFileSystems", "End": True}
    ask["Arguments"] = {"FileSystemIds": ["fs-00000000000000000"]}
    ask["Retry"] = [{"ErrorEquals": ["FSx.FileSystemNotFoundException"], "IntervalSeconds": 5, "MaxAttempts": 2}]
    machine = machines.make("Ask", {"Ask": ask})
    execution = machines.start(machine)
    assert machines.end(execution)["error"] == "FSx.FileSystemNotFoundException"
    events = machines.states.get_execution_history(executionArn=execution)["events"]
    assert [event["type"] for event in events].count("TaskScheduled") == 3


def test_a_lambda_error_has_its_class_as_its_name(machines: Machines, deployed: Deployed) -> None:
    call = {"Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "End": True}
    call["Arguments"] = {"FunctionName": deployed.outputs["Probe"], "Payload": {"refuse": "line one\nline: two"}}
    end = machines.run("Call", {"Call": call})
    assert end["error"] == "JobRefused"
    cause = json.loads(end["cause"])
    assert cause["errorType"] == "JobRefused"
    assert cause["errorMessage"] == "line one\nline: two"
    assert "in handler" in cause["stackTrace"][-1]


def test_an_unknown_service_call_is_named(machines: Machines) -> None:
    ask = {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:fsx:describeBackups", "Arguments": {}, "End": True}
    end = machines.run("Ask", {"Ask": ask})
    assert "fsx:DescribeBackups is not built into the local cloud" in end["cause"]


def test_the_same_name_with_the_same_input_is_the_same_execution_while_it_runs(machines: Machines) -> None:
    machine = machines.make("Sleep", {"Sleep": {"Type": "Wait", "Seconds": 1_000_000, "End": True}})
    asked = {"stateMachineArn": machine, "name": "once", "input": "{}"}
    first, second = machines.states.start_execution(**asked), machines.states.start_execution(**asked)
    assert first["executionArn"] == second["executionArn"]
    with pytest.raises(machines.states.exceptions.ExecutionAlreadyExists):
        machines.states.start_execution(**{**asked, "input": '{"other": 1}'})
    machines.states.stop_execution(executionArn=first["executionArn"])
    with pytest.raises(machines.states.exceptions.ExecutionAlreadyExists):
        machines.states.start_execution(**asked)
