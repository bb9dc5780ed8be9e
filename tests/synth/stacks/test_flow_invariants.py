"""Both flows keep every rule, and each check sees the defect that it is there for."""

from collections.abc import Callable

import pytest

from tools.definitions import answers, counting, habits, invariants, rules
from tools.definitions.asl import Json, scopes, states
from tools.definitions.templates import Assembly

MACHINES = ("Train", "Teardown")


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, assembly: Assembly) -> Json:
    return assembly.machine(request.param)


@pytest.fixture
def train(assembly: Assembly) -> Json:
    return assembly.machine("Train")


@pytest.fixture
def teardown(assembly: Assembly) -> Json:
    return assembly.machine("Teardown")


@pytest.mark.parametrize("rule", rules.RULES)
def test_the_flow_keeps_the_rule_that(machine: Json, rule: str) -> None:
    assert rules.RULES[rule](machine) == []


# ---- promise 1: export before delete


def test_there_is_a_deletion_to_be_held_to_its_proofs(teardown: Json) -> None:
    assert any(state.get("Resource") == invariants.DELETES for state in states(teardown).values())


def test_the_training_flow_deletes_no_file_system(train: Json) -> None:
    assert not [name for name, state in states(train).items() if "deletefile" in str(state.get("Resource")).lower()]


@pytest.mark.parametrize(
    "plant",
    [
        pytest.param(lambda s: s["Export: ready"].update(Next="Delete file system"), id="verify skipped"),
        pytest.param(lambda s: s["All in S3?"].update(Default="Delete file system"), id="deleted by default"),
        pytest.param(lambda s: _rule_to(s, "All in S3?", "Delete").update(Condition="{% true %}"), id="proof dropped"),
        pytest.param(
            lambda s: _rule_to(s, "All in S3?", "Delete").update(Condition="{% $verification.whole or $exported %}"),
            id="proof widened",
        ),
        pytest.param(
            lambda s: _rule_to(s, "Holds work?", "Delete").update(
                Condition="{% $found.file_system.state != 'in-use' %}"
            ),
            id="a kept file system taken for an empty one",
        ),
        pytest.param(lambda s: s["Verify"]["Catch"][0].update(Next="Delete file system"), id="caught into deletion"),
    ],
)
def test_a_way_round_the_proofs_is_seen(teardown: Json, plant: Callable[[dict[str, Json]], None]) -> None:
    plant(teardown["States"])
    assert invariants.unproven_deletions(teardown) == ["Delete file system: can be reached without a proof"]


def test_a_deletion_inside_a_branch_is_seen(teardown: Json) -> None:
    teardown["States"]["Stop training"]["ItemProcessor"]["States"]["Stop training: stop task"]["Resource"] = (
        invariants.DELETES
    )
    assert invariants.unproven_deletions(teardown) == ["Stop training: stop task: can be reached without a proof"]


@pytest.mark.parametrize("value", ["{% {'whole': true} %}", "{% $states.result.Payload %}"])
def test_a_verification_that_nobody_made_is_seen(teardown: Json, value: str) -> None:
    teardown["States"]["Export: how far?"]["Assign"]["verification"] = value
    assert invariants.answers_from_elsewhere(teardown, variable="verification", function="verify") == [
        "Export: how far?: assigns $verification"
    ]


# ---- promise 2: nothing leaks, nothing hangs


def test_both_machines_end_by_themselves_at_last(machine: Json) -> None:
    assert machine["TimeoutSeconds"] > 0


def test_once_a_file_system_was_asked_for_every_end_lies_behind_teardown(train: Json) -> None:
    assert _ends_without_teardown(train) == set()


def test_an_end_before_teardown_is_seen(train: Json) -> None:
    train["States"]["Mark as in use"]["Catch"][0]["Next"] = "Not accepted"
    assert _ends_without_teardown(train) == {"Not accepted"}


@pytest.mark.parametrize(
    ("check", "plant", "fault"),
    [
        (invariants.tasks_without_catch, lambda s: s["Verify"].pop("Catch"), "Verify"),
        (
            invariants.tasks_without_catch,
            lambda s: s["Export to S3"]["Catch"][0].update(ErrorEquals=["States.Timeout"]),
            "Export to S3",
        ),
        (invariants.tasks_without_catch, lambda s: s["Stop training"].pop("Catch"), "Stop training: stop task"),
        (invariants.tasks_without_retry, lambda s: s["Verify"].pop("Retry"), "Verify"),
        (invariants.tasks_without_retry, lambda s: s["Verify"]["Retry"][-1].pop("JitterStrategy"), "Verify"),
        (invariants.tasks_without_retry, lambda s: s["Verify"]["Retry"][-1].update(BackoffRate=1), "Verify"),
        (invariants.lost_states, lambda s: s["Verify"].update(Next="Al in S3?"), "Al in S3?: does not exist"),
        (invariants.lost_states, lambda s: s["Export to S3"].update(Next="Verify"), "Export: wait: is never entered"),
        (
            invariants.dead_ends,
            lambda s: (
                s["Certify"].update(Next="Verify"),
                s["Will it start again?"]["Choices"][0].update(Next="Verify"),
            ),
            "Verify: no end can be reached",
        ),
        (invariants.choices_without_default, lambda s: s["All in S3?"].pop("Default"), "All in S3?"),
        (
            invariants.unexplained_troubles,
            lambda s: s["Export: how far?"].update(Output="{% $states.result.Payload %}"),
            "Export: ready? -> Cannot be proven: gives no reason",
        ),
        (invariants.short_waits, lambda s: s["Export: wait"].update(Seconds="{% 2 %}"), "Export: wait: {% 2 %}"),
        (invariants.short_waits, lambda s: s["Export: wait"].update(Seconds=5), "Export: wait: 5"),
        (
            invariants.short_waits,
            lambda s: s["Export: wait"].update(Seconds="{% $polls %}"),
            "Export: wait: {% $polls %}",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Export: how far?"]["Assign"].pop("polls"),
            "Export: ready? -> Export: wait: no counter bounds this loop",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Export: wait"].update(Assign={"polls": 0}),
            "Export: ready? -> Export: wait: no counter bounds this loop",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Export: ready?"].update(Default="Export: wait"),
            "Export: ready? -> Export: wait: no counter bounds this loop",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Export: how far?"]["Catch"][0].update(Next="Export: wait"),
            "Export: how far? -> Export: wait: no counter bounds this loop",
        ),
        (
            invariants.unbounded_loops,
            lambda s: _rule_to(s, "All in S3?", "Export").update(Condition="{% $proofs < 3 or $exported %}"),
            "All in S3? -> Export to S3: no counter bounds this loop",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Verify"]["Assign"].update(proofs="{% $proofs %}"),
            "All in S3? -> Export to S3: no counter bounds this loop",
        ),
        (
            habits.repeated_answers,
            lambda s: s["Delete file system"]["Retry"].pop(0),
            "Delete file system: FSx.FileSystemNotFoundException is an answer, and is retried",
        ),
        (
            habits.repeated_answers,
            lambda s: s["Keep file system"]["Catch"].pop(0),
            "Keep file system: FileSystemGone is not retried, and has no Catch of its own",
        ),
        (
            habits.short_retries,
            lambda s: s["Export to S3"]["Retry"][0].update(MaxAttempts=5),
            "Export to S3: FSx.DataRepositoryTaskExecutingException is retried for 150 s",
        ),
        (
            habits.short_retries,
            lambda s: s["Delete file system"]["Retry"].pop(1),
            "Delete file system: FSx.BadRequestException is retried for 0 s",
        ),
        (
            habits.short_retries,
            lambda s: s["Export to S3"]["Retry"][0].update(MaxAttempts=24_000),
            "Export to S3: FSx.DataRepositoryTaskExecutingException is retried for 720000 s",
        ),
        (
            answers.kept_since_not_passed_on,
            lambda s: s["Keep file system"]["Arguments"]["Payload"].pop("since"),
            "Keep file system",
        ),
        (
            counting.waits_not_counted,
            lambda s: s["Export: wait"].update(Seconds="{% 30 %}"),
            "Export: ready?: a round is 15 s, and the wait is 30 s",
        ),
        (
            habits.calls_without_timeout,
            lambda s: s["Tell a person"].pop("TimeoutSeconds"),
            "Tell a person: waits None s",
        ),
        (
            habits.calls_without_token,
            lambda s: s["Delete file system"]["Arguments"].pop("ClientRequestToken"),
            "Delete file system",
        ),
        (
            answers.mixed_questions,
            lambda s: s["File system there?"].update(Default="Holds work?"),
            "Holds work?: is about File system: how far? and Training: how far?",
        ),
        (
            answers.mixed_questions,
            lambda s: s["Deletion: how far?"]["Catch"][0].update(Next="Deletion: gone?"),
            "Deletion: gone?: is about Deletion: how far? and an error of Deletion: how far?",
        ),
        (
            answers.mixed_exports,
            lambda s: s["Export to S3"]["Catch"][0].pop("Assign"),
            "Export to S3 -> Verify: $exported may be of an earlier export",
        ),
        (
            answers.mixed_exports,
            lambda s: s["Export: how far?"]["Assign"].pop("exported"),
            "Export to S3 -> Verify: $exported may be of an earlier export",
        ),
        (
            counting.counters_not_set_back,
            lambda s: s["Deletion: asked for"].pop("Assign"),
            "Deletion: gone?: $polls may continue another count",
        ),
    ],
)
def test_each_check_sees_its_defect(
    teardown: Json, check: Callable[[Json], list[str]], plant: Callable[[dict[str, Json]], object], fault: str
) -> None:
    before = check(teardown)
    plant(teardown["States"])
    assert fault in set(check(teardown)) - set(before)


@pytest.mark.parametrize(
    ("check", "plant", "fault"),
    [
        (
            habits.created_again,
            lambda s: s["Earlier attempt: gone?"].update(Default="Create scratch file system"),
            "Create scratch file system: a path leads back here",
        ),
        (habits.calls_without_timeout, lambda s: _branch(s, 0)["Run training"].pop("TimeoutSeconds"), "Run training"),
        (
            rules.RULES["every counter begins at zero"],
            lambda s: s["Earlier attempt: asked for"].pop("Assign"),
            "Earlier attempt: gone?: $polls may continue another count",
        ),
        (
            counting.uncounted_attempts,
            lambda s: s["How did it end?"]["Arguments"]["Payload"].pop("attempts"),
            "How did it end?: the counts are lost",
        ),
        (
            counting.uncounted_attempts,
            lambda s: s["Earlier attempt: how far?"]["Assign"].pop("attempt_began"),
            "How did it end? -> Train: begins with an earlier attempt",
        ),
        (
            habits.retried_elsewhere,
            lambda s: s["Earlier attempt: gone?"].update(Default="Training never started"),
            "Earlier attempt: asked for: a retry does not train",
        ),
        (
            habits.retried_elsewhere,
            lambda s: s["Earlier attempt: gone?"]["Choices"][0].update(Next="Training never started"),
            "Earlier attempt: asked for: a retry does not train",
        ),
        (
            habits.created_without_tags,
            lambda s: s["Link a folder"]["Arguments"].pop("Tags"),
            "Link a folder: what it creates has no tags",
        ),
        (
            habits.created_again,
            lambda s: s["May it wait?"]["Choices"][0].update(Next="Wait to start again"),
            "Create scratch file system: a path leads back here",
        ),
        (
            counting.uncounted_attempts,
            lambda s: s["How did it end?"]["Assign"].pop("attempt"),
            "How did it end?: the next attempt has no number of its own",
        ),
        (
            counting.uncounted_attempts,
            lambda s: _branch(s, 1)["Instance: how far?"]["Arguments"]["Payload"].pop("attempt"),
            "Instance: how far?: does not name this attempt",
        ),
    ],
)
def test_each_check_sees_its_defect_in_training(
    train: Json, check: Callable[[Json], list[str]], plant: Callable[[dict[str, Json]], object], fault: str
) -> None:
    assert check(train) == []
    plant(train["States"])
    assert any(found.startswith(fault) for found in check(train)), check(train)


def _branch(flow: dict[str, Json], number: int) -> dict[str, Json]:
    branch: dict[str, Json] = flow["Train"]["Branches"][number]["States"]
    return branch


def _ends_without_teardown(train: Json) -> set[str]:
    outer = next(scopes(train))
    behind = [arrow for arrow in outer.arrows() if arrow.source == "Teardown"]
    reached = outer.reachable("Create scratch file system", without=behind)
    return {name for name in reached if outer.states[name]["Type"] in ("Succeed", "Fail")}


def _rule_to(flow: dict[str, Json], name: str, target: str) -> Json:
    choices: list[Json] = flow[name]["Choices"]
    return next(rule for rule in choices if rule["Next"].startswith(target))
