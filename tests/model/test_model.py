"""The model itself: its language is JSONata's, its Lambdas are the real ones, and it can tell a broken flow."""

import copy
import json
from typing import Any

import pytest

from local_cloud.interpreter.jsonata import QueryEvaluationError, evaluate
from tests.model import mutants, mutate
from tests.model.deployed import Deployed
from tests.model.explore import Explorer
from tests.model.fidelity import compare
from tests.model.jsonata import QueryError, Unsupported, compiled
from tests.model.player import Player
from tests.model.recorded import recorder
from tests.model.schedules import ordinary
from tests.model.standing import Fault
from tests.model.trace import told
from tests.model.values import freeze, thaw
from tests.support.asl import bare, is_expression

# `make explore` gives them three.
FAULTS = 2

# What the flows' variables hold at one time or another; each expression is put to all of them.
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
            "errorOutput": {"Error": "E", "Cause": '{"Error": "TrainingCrashed.CheckpointsKept", "Cause": "told"}'},
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
        "trouble": "nobody knows",
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


def test_every_expression_of_the_flows_says_what_jsonata_says(definitions: Deployed) -> None:
    compared = 0
    for text in sorted(_expressions(definitions.definitions)):
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


def test_what_the_model_cannot_evaluate_it_refuses_when_the_flow_is_loaded() -> None:
    with pytest.raises(Unsupported):
        compiled("$map([1, 2], function($one) { $one + 1 })")


def test_without_faults_a_run_trains_and_is_safe(definitions: Deployed) -> None:
    """Else all that follows would prove things about runs that never come to training."""
    end, steps = ordinary(definitions.exact())
    assert end == "SUCCEEDED | Completed/Verified/deleted | no file system, 0 tasks, 2/2 in S3"
    # Each costs money and time, of every run.
    assert steps == 56


@pytest.mark.parametrize("stopped", [True, False], ids=["stopped-somewhere", "not-stopped"])
def test_no_schedule_of_a_few_faults_breaks_a_promise(definitions: Deployed, stopped: bool) -> None:
    """Two tests, so that two processes share them."""
    found = Explorer(definitions.exact(), faults=FAULTS, stopped=stopped).result
    assert not found.broken, "\n".join(told(promise, path) for promise, path in found.broken.items())
    assert found.schedules > (60_000 if stopped else 10_000)


def test_both_parts_together_are_all_schedules(definitions: Deployed) -> None:
    whole, *parts = (
        Explorer(definitions.exact(), faults=1, stopped=part).result.schedules for part in (None, True, False)
    )
    assert whole == sum(parts)


def test_dropping_what_nothing_reads_any_more_changes_no_outcome(definitions: Deployed) -> None:
    lean, full = (Explorer(definitions.exact(pruned=pruned), faults=1) for pruned in (True, False))
    begin = (definitions.exact().begin(), 1)
    assert lean.walk(begin) == full.walk(begin)


@pytest.mark.parametrize(
    ("machine", "state", "change", "promise"),
    [
        ("Teardown", "All in S3?", {"Type": "Pass", "Next": "Delete file system"}, "is not whole in S3"),
        ("Teardown", "Anything left?", {"Default": "Nothing left to do"}, "no certificate"),
        ("Train", "Teardown", {"Next": "Trained and safe"}, "Train succeeded, but training did not complete"),
    ],
)
def test_a_broken_flow_is_seen_and_told_as_a_story(
    definitions: Deployed, machine: str, state: str, change: dict[str, str], promise: str
) -> None:
    broken = copy.deepcopy(definitions.definitions)
    broken[machine]["States"][state].update(change)
    found = Explorer(definitions._replace(definitions=broken).exact(), faults=1).result.broken
    assert any(promise in one for one in found), found
    story = told(*next(iter(found.items())))
    assert "Accept job" in story


def test_a_fault_that_lasts_is_answered_by_the_catch_and_one_that_passes_by_the_retry(definitions: Deployed) -> None:
    net = definitions.exact()
    steps = list(net.train_steps(net.begin()))
    once = next(one for one in steps if "is throttled, " in one.label)
    lasting = next(one for one in steps if "is throttled for long" in one.label)
    assert once.to.train is not None and once.to.train.state == "Accept job"
    assert lasting.to.train is None and lasting.label.endswith("Not accepted")
    assert Fault("E").lasts is False


def test_a_sample_of_planted_defects_is_noticed(definitions: Deployed) -> None:
    """With one fault, or by a rule; `make mutate` plants all of them, and gives what survives two faults."""
    golden = mutate.Golden(definitions, faults=1)
    every = list(mutants.of(definitions.definitions))
    survived = [
        one.name
        for one in every[:: len(every) // 12]
        if golden.killer(one).startswith("nobody") and mutate.broken_rule(one) == "nobody"
    ]
    assert set(survived) <= mutate.reviewed().keys()
    assert mutate.reviewed().keys() <= {one.name for one in every}


def test_a_mutant_counts_as_the_same_only_while_it_survives() -> None:
    verdicts = {"a": "another outcome", "b": "nobody", "c": "nobody, though it differs", "d": "a broken promise"}
    score = mutate.scored(verdicts, {"b": "why", "d": "why", "e": "why"})
    assert (score.equivalent, score.outdated) == (["b"], ["d", "e"])
    assert score.holes == ["c (nobody, though it differs)"]
    assert score.value == 2 / 3


def test_a_sample_of_schedules_ends_the_same_in_the_local_cloud(definitions: Deployed) -> None:
    for found in compare(definitions, schedules=8, seed=2):
        assert not found.differences, found.differences[0]
    assert found.calls > 80


def test_another_flow_in_the_local_cloud_would_be_seen(definitions: Deployed) -> None:
    changed = copy.deepcopy(definitions.definitions)
    changed["Teardown"]["States"]["All in S3?"] = {"Type": "Pass", "Next": "Export to S3"}
    executions, _ = recorder(definitions.definitions, definitions.rescued, seed=1).schedule(faults=0, stop=False)
    player = Player(changed)
    differences = [player.play(one) for one in executions]
    assert any(one and "Export to S3 asks, and it should be Delete file system" in one for one in differences)
