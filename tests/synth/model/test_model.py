"""The model: its JSONata is the real one, no schedule breaks a promise, and a broken flow is noticed."""

import copy
import json
from typing import Any

import pytest

from tools.definitions.asl import bare, is_expression
from tools.local_cloud.interpreter.jsonata import QueryEvaluationError, evaluate
from tools.proofs.model import mutants, mutate
from tools.proofs.model.execution import Fault
from tools.proofs.model.explore import Explorer
from tools.proofs.model.fidelity import compare
from tools.proofs.model.flows import Flows
from tools.proofs.model.jsonata import QueryError, Unsupported, compiled
from tools.proofs.model.recording import recorder
from tools.proofs.model.replay import Replayer
from tools.proofs.model.schedules import without_faults
from tools.proofs.model.trace import as_text
from tools.proofs.model.values import freeze, thaw

# `make explore` gives them three.
FAULTS = 2

# Values that the flows' variables may have; each expression is evaluated with all of them.
FOUND = {
    "known": True,
    "run": "20261121t024455z-cd801311",
    "job": "digits",
    "tasks": ["arn:1"],
    "certified": False,
    "started_at": "2026-11-21T02:44:55.123Z",
    "export_limit_seconds": 30,
    "ended": None,
    "file_system": {"id": "fs-1", "state": "in-use", "phase": "ready"},
}
LIMITS = {"scratch": 60, "link": 60, "capacity": 60, "train": 600, "export": 30}
ENDED = {"outcome": "Crashed", "reason": "exit code 1", "source": "task"}
SCOPES: list[dict[str, Any]] = [
    {},
    {
        "found": FOUND,
        "is_there": True,
        "ended": ENDED,
        "verification": {"whole": True, "missing": []},
        "proofs": 1,
        "polls": 2,
        "capacity_polls": 1,
        "exported": False,
        "trouble": "",
        "limits": LIMITS,
        "attempt": 1,
        "task": {"spot": True, "Cpu": 1024, "Memory": 2048, "ResourceRequirements": []},
        "request": {"links": [{"FileSystemPath": "/run"}, {"FileSystemPath": "/data"}], "scratch": {"Tags": []}},
        "failure": {"Error": "States.TaskFailed", "Cause": "{}"},
        "certificate": {"durability": "Kept", "error": "E", "sentence": "S"},
        "verdict": {"training": "Completed", "durability": "Verified", "error": "E", "sentence": "S"},
        "states": {
            "input": {"phase": "ready", "reason": "it is there", "retry": True, "tasks": ["arn:1"], "ended": ENDED},
            "result": {"Payload": {"phase": "ready", "missing": ["a", "b"], "reason": "why", "file_system": None}},
            "errorOutput": {"Error": "E", "Cause": '{"Error": "TrainingCrashed.CheckpointsKept", "Cause": "why"}'},
            "context": {"Execution": {"Id": "arn:x", "Name": "n", "Input": {"execution_arn": "arn:t"}}},
        },
    },
    {
        "found": FOUND | {"known": False, "tasks": [], "file_system": None},
        "is_there": False,
        "ended": None,
        "verification": None,
        "proofs": 3,
        "polls": 500,
        "capacity_polls": 9,
        "exported": True,
        "trouble": "unknown",
        "limits": LIMITS,
        "verdict": {"training": "Crashed", "durability": "Lost"},
        "certificate": {"durability": "Verified"},
        "states": {
            "input": {"phase": "pending", "Error": "States.Timeout", "Cause": '{"errorMessage": "said"}'},
            "result": {"Payload": {"missing": [], "file_system": {"id": "fs-1"}}},
            "errorOutput": {"Error": "States.Timeout"},
        },
    },
]


def _expressions(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set().union(*(_expressions(inner) for inner in value.values()))
    if isinstance(value, list):
        return set().union(*(_expressions(inner) for inner in value))
    return {bare(value)} if is_expression(value) else set()


def test_every_expression_of_the_flows_has_the_value_that_jsonata_gives(flows: Flows) -> None:
    compared = 0
    for text in sorted(_expressions(flows.definitions)):
        for scope in SCOPES:
            try:
                expected = evaluate(text, scope)
            except QueryEvaluationError:
                with pytest.raises(QueryError):
                    compiled(text)({name: freeze(value) for name, value in scope.items()})
            else:
                found = thaw(compiled(text)({name: freeze(value) for name, value in scope.items()}))
                assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True), text
            compared += 1
    assert compared > 250


def test_an_unsupported_expression_is_refused_when_the_flow_is_loaded() -> None:
    with pytest.raises(Unsupported):
        compiled("$map([1, 2], function($one) { $one + 1 })")


def test_without_faults_a_run_trains_and_is_safe(flows: Flows) -> None:
    """Otherwise the other tests would be about runs that never train."""
    end, steps = without_faults(flows.exact())
    assert end == "SUCCEEDED | Completed/Verified/deleted | no file system, 0 tasks, 2/2 in S3"
    # Each state costs money and time in every run.
    assert steps == 64


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped-somewhere", "not-stopped"])
def test_no_schedule_of_a_few_faults_breaks_a_promise(flows: Flows, stopped: bool) -> None:
    """Two tests, so that two processes can run them."""
    found = Explorer(flows.exact(), faults=FAULTS, stopped=stopped).result
    assert not found.broken, "\n".join(as_text(promise, path) for promise, path in found.broken.items())
    assert found.schedules > (60_000 if stopped else 10_000)


def test_both_parts_together_are_all_schedules(flows: Flows) -> None:
    whole, *parts = (Explorer(flows.exact(), faults=1, stopped=part).result.schedules for part in (None, True, False))
    assert whole == sum(parts)


def test_dropping_variables_that_no_state_reads_changes_no_outcome(flows: Flows) -> None:
    lean, full = (Explorer(flows.exact(pruned=pruned), faults=1) for pruned in (True, False))
    begin = (flows.exact().begin(), 1)
    assert lean.walk(begin) == full.walk(begin)


@pytest.mark.parametrize(
    ("machine", "state", "change", "promise"),
    [
        ("Teardown", "All in S3?", {"Type": "Pass", "Next": "Delete file system"}, "is not whole in S3"),
        ("Teardown", "Anything left?", {"Default": "Nothing left to do"}, "no certificate"),
        ("Train", "Teardown", {"Next": "Trained and safe"}, "Train succeeded, but training did not complete"),
    ],
)
def test_a_broken_flow_is_noticed_and_the_trace_shows_its_states(
    flows: Flows, machine: str, state: str, change: dict[str, str], promise: str
) -> None:
    broken = copy.deepcopy(flows.definitions)
    broken[machine]["States"][state].update(change)
    found = Explorer(flows._replace(definitions=broken).exact(), faults=1).result.broken
    assert any(promise in one for one in found), found
    text = as_text(*next(iter(found.items())))
    assert "Accept job" in text


def test_a_lasting_fault_ends_in_the_catch_and_a_short_one_in_the_retry(flows: Flows) -> None:
    model = flows.exact()
    steps = list(model.train_steps(model.begin()))
    once = next(one for one in steps if "is throttled, " in one.label)
    lasting = next(one for one in steps if "is throttled for long" in one.label)
    assert once.to.train is not None and once.to.train.state == "Accept job"
    assert lasting.to.train is None and lasting.label.endswith("Not accepted")
    assert Fault("E").lasts is False


def test_a_sample_of_mutants_is_killed(flows: Flows) -> None:
    """With one fault, or by a rule; `make mutate` runs all of them, the survivors with two faults."""
    baseline = mutate.Baseline(flows, faults=1)
    every = list(mutants.of(flows.definitions))
    survived = [
        one.name
        for one in every[:: len(every) // 12]
        if baseline.killed_by(one).startswith("survived") and mutate.broken_rule(one) == "survived"
    ]
    assert set(survived) <= mutate.reviewed().keys()
    assert mutate.reviewed().keys() <= {one.name for one in every}


def test_a_mutant_counts_as_equivalent_only_while_it_survives() -> None:
    verdicts = {"a": "another outcome", "b": "survived", "c": "survived, though it differs", "d": "a broken promise"}
    score = mutate.scored(verdicts, {"b": "why", "d": "why", "e": "why"})
    assert (score.equivalent, score.outdated) == (["b"], ["d", "e"])
    assert score.holes == ["c (survived, though it differs)"]
    assert score.value == 2 / 3


def test_a_sample_of_schedules_ends_the_same_in_the_local_cloud(flows: Flows) -> None:
    for found in compare(flows, schedules=8, seed=2):
        assert not found.differences, found.differences[0]
    assert found.calls > 80


def test_a_changed_flow_in_the_local_cloud_is_noticed(flows: Flows) -> None:
    changed = copy.deepcopy(flows.definitions)
    changed["Teardown"]["States"]["All in S3?"] = {"Type": "Pass", "Next": "Export to S3"}
    executions, _ = recorder(flows.definitions, flows.rescued, seed=1).schedule(faults=0, stop=False)
    replayer = Replayer(changed)
    differences = [replayer.replay(one) for one in executions]
    assert any(one and "Export to S3 calls, but Delete file system is due" in one for one in differences)
