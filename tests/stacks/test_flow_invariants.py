"""What both flows keep, whatever else changes in them; and that each check sees the defect it is there for."""

from collections.abc import Callable

import pytest

from tests.support import invariants
from tests.support.asl import Json, scopes, states
from tests.support.templates import Assembly

MACHINES = ("Train", "Teardown")
# The judge counts the attempts of each cause against what the job allows; its own tests hold it to that.
COUNTED_BY_JUDGE = frozenset({("Try again?", "$states.input.retry")})
# Before anything is found there is nothing to keep, and after the certificate nothing is left to do: to fail is right,
# and whoever started the teardown hears of it.
MAY_FAIL = {"Find what is left", "Certify"}
# It starts a GPU: how often is decided by cause, outside, in `Try again?`.
REPEATED_BY_CAUSE = {"Run training"}


@pytest.fixture(params=MACHINES)
def machine(request: pytest.FixtureRequest, assembly: Assembly) -> Json:
    return assembly.machine(request.param)


@pytest.fixture
def train(assembly: Assembly) -> Json:
    return assembly.machine("Train")


@pytest.fixture
def teardown(assembly: Assembly) -> Json:
    return assembly.machine("Teardown")


# ---- promise 1: export before delete


def test_every_way_to_the_deletion_leads_through_a_proof(teardown: Json) -> None:
    assert any(state.get("Resource") == invariants.DELETES for state in states(teardown).values())
    assert invariants.unproven_deletions(teardown) == []


def test_the_training_flow_deletes_nothing(train: Json) -> None:
    assert not [name for name, state in states(train).items() if "delete" in str(state.get("Resource")).lower()]


def test_only_the_verification_says_that_all_is_in_s3(teardown: Json) -> None:
    assert invariants.answers_from_elsewhere(teardown, variable="verification", function="verify") == []


def test_only_what_was_found_says_that_a_file_system_is_empty(teardown: Json) -> None:
    assert invariants.answers_from_elsewhere(teardown, variable="found", function="find") == []


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


# ---- promise 3: the status tells the truth


def test_why_training_never_started_is_always_said(train: Json) -> None:
    assert invariants.unexplained_troubles(train) == []


def test_why_a_file_system_was_kept_is_always_said(teardown: Json) -> None:
    assert invariants.unexplained_troubles(teardown) == []


# ---- promise 2: nothing leaks, nothing hangs


def test_every_call_is_caught_somewhere(machine: Json) -> None:
    assert set(invariants.tasks_without_catch(machine)) <= MAY_FAIL


def test_every_call_is_repeated_patiently(machine: Json) -> None:
    assert set(invariants.tasks_without_retry(machine)) <= REPEATED_BY_CAUSE


def test_every_state_exists_and_is_entered(machine: Json) -> None:
    assert invariants.lost_states(machine) == []


def test_an_end_is_in_reach_from_everywhere(machine: Json) -> None:
    assert invariants.dead_ends(machine) == []


def test_every_question_has_an_answer_for_the_rest(machine: Json) -> None:
    assert invariants.choices_without_default(machine) == []


def test_every_loop_is_bounded_by_a_counter(machine: Json) -> None:
    assert invariants.unbounded_loops(machine, counted_elsewhere=COUNTED_BY_JUDGE) == []


def test_the_judge_gets_the_attempts_and_gives_them_back(train: Json) -> None:
    judged = states(train)["How did it end?"]
    assert judged["Arguments"]["Payload"]["attempts"] == "{% $attempts %}"
    assert judged["Assign"]["attempts"] == "{% $states.result.Payload.attempts %}"


def test_no_wait_is_shorter_than_ten_seconds(machine: Json) -> None:
    assert invariants.short_waits(machine) == []


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
        (invariants.dead_ends, lambda s: s["Certify"].update(Next="Verify"), "Verify: no end in reach"),
        (invariants.choices_without_default, lambda s: s["All in S3?"].pop("Default"), "All in S3?"),
        (
            invariants.unexplained_troubles,
            lambda s: s["Export: how far?"].update(Output="{% $states.result.Payload %}"),
            "Export: ready? -> Cannot be proven: brings no reason",
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
            "Export: ready? -> Export: wait: nothing counts the rounds",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Export: wait"].update(Assign={"polls": 0}),
            "Export: ready? -> Export: wait: nothing counts the rounds",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Export: ready?"].update(Default="Export: wait"),
            "Export: ready? -> Export: wait: nothing counts the rounds",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Export: how far?"]["Catch"][0].update(Next="Export: wait"),
            "Export: how far? -> Export: wait: nothing counts the rounds",
        ),
        (
            invariants.unbounded_loops,
            lambda s: _rule_to(s, "All in S3?", "Export").update(Condition="{% $proofs < 3 or $exported %}"),
            "All in S3? -> Export to S3: nothing counts the rounds",
        ),
        (
            invariants.unbounded_loops,
            lambda s: s["Verify"]["Assign"].update(proofs="{% $proofs %}"),
            "All in S3? -> Export to S3: nothing counts the rounds",
        ),
    ],
)
def test_each_check_sees_its_defect(
    teardown: Json, check: Callable[[Json], list[str]], plant: Callable[[dict[str, Json]], object], fault: str
) -> None:
    before = check(teardown)
    plant(teardown["States"])
    assert fault in set(check(teardown)) - set(before)


def _ends_without_teardown(train: Json) -> set[str]:
    outer = next(scopes(train))
    behind = [arrow for arrow in outer.arrows() if arrow.source == "Teardown"]
    reached = outer.reachable("Create scratch file system", without=behind)
    return {name for name in reached if outer.states[name]["Type"] in ("Succeed", "Fail")}


def _rule_to(flow: dict[str, Json], name: str, target: str) -> Json:
    choices: list[Json] = flow[name]["Choices"]
    return next(rule for rule in choices if rule["Next"].startswith(target))
