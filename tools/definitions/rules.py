"""The rules for both flows in one list, with their few exceptions.

The tests apply them to the flows; `make mutate` counts which planted defects they notice.
"""

from collections.abc import Callable
from functools import partial

from belay.contract.states import TeardownState, TrainState
from tools.definitions import answers, counting, dataflow, habits, integrations, invariants, timing
from tools.definitions.asl import Json

Rule = Callable[[Json], list[str]]

# The Lambda judge counts the attempts of each cause against the job's limits; its own tests check that.
COUNTED_BY_JUDGE = frozenset({(TrainState.TRY_AGAIN, "$states.input.retry")})
# Before `find` answers there is nothing to keep, and after the certificate nothing is left to do: the execution fails.
MAY_FAIL: set[str] = {TeardownState.FIND_WHAT_IS_LEFT, TeardownState.CERTIFY}
COUNTED_ON = {
    # A link that failed stays in the count of those made, and is one more of those that have to be made.
    f"{TrainState.ALL_LINKED}: $links_made may continue another count",
    # What a run may wait for AWS is counted over all its attempts.
    f"{TrainState.MAY_IT_WAIT}: $start_polls may continue another count",
}


def _but(check: Rule, allowed: set[str]) -> Rule:
    return lambda definition: [fault for fault in check(definition) if fault not in allowed]


def _only_from(variable: str, function: str) -> Rule:
    return partial(invariants.answers_from_elsewhere, variable=variable, function=function)


RULES: dict[str, Rule] = {
    # promise 1: export before delete
    "every path to the deletion has a proof": invariants.unproven_deletions,
    "only the verification says that all is in S3": _only_from("verification", "verify"),
    "only what was found says that a file system is empty": _only_from("found", "find"),
    "an earlier export does not count for a later one": answers.mixed_exports,
    # promise 2: nothing leaks, nothing hangs
    "every call is caught somewhere": _but(invariants.tasks_without_catch, MAY_FAIL),
    "every call is retried with back-off": invariants.tasks_without_retry,
    "every state exists and is entered": invariants.lost_states,
    "an end is in reach from everywhere": invariants.dead_ends,
    "every Choice has a Default": invariants.choices_without_default,
    "every loop is bounded by a counter": partial(invariants.unbounded_loops, counted_elsewhere=COUNTED_BY_JUDGE),
    "every counter begins at zero": _but(
        partial(counting.counters_not_set_back, counted_elsewhere=COUNTED_BY_JUDGE), COUNTED_ON
    ),
    "attempts are counted, each has its number": counting.uncounted_attempts,
    "a limit in seconds counts the real waits": counting.waits_not_counted,
    "no wait is shorter than ten seconds": invariants.short_waits,
    "every call has a time-out": habits.calls_without_timeout,
    "a run has one file system at a time": habits.created_again,
    "a retry keeps its file system": habits.retried_elsewhere,
    "what is created has tags": habits.created_without_tags,
    "every call that creates or deletes has a token": habits.calls_without_token,
    "the date of keeping is passed on": answers.kept_since_not_passed_on,
    "an operation in progress is waited for": habits.short_retries,
    "an error that is an answer is not retried": habits.repeated_answers,
    # promise 3: the status tells the truth
    "every failure has a reason": invariants.unexplained_troubles,
    "a Choice reads one answer": answers.mixed_questions,
    "goodput knows where the time of every state goes": timing.states_without_bucket,
    # the language, and AWS
    "every expression parses": dataflow.unreadable_expressions,
    "every variable is assigned on every path": dataflow.unassigned_variables,
    "no variable hides another": dataflow.hidden_variables,
    "every field of $states exists": dataflow.misplaced_fields_of_states,
    "every call is one that AWS has": integrations.wrong_calls,
    "every error that is named can occur": integrations.unknown_errors,
}


def first_broken(definition: Json) -> str | None:
    return next((name for name, rule in RULES.items() if rule(definition)), None)
