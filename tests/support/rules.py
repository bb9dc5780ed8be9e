"""What both flows keep, whatever else changes in them, as one list with its few exceptions.

The tests hold the flows to it; the mutation run asks which planted defects it notices.
"""

from collections.abc import Callable
from functools import partial

from tests.support import answers, counting, dataflow, habits, integrations, invariants
from tests.support.asl import Json

Rule = Callable[[Json], list[str]]

# The judge counts the attempts of each cause against what the job allows; its own tests hold it to that.
COUNTED_BY_JUDGE = frozenset({("Try again?", "$states.input.retry")})
# Before anything is found there is nothing to keep, and after the certificate nothing is left to do: to fail is right,
# and whoever started the teardown hears of it.
MAY_FAIL = {"Find what is left", "Certify"}
# It starts a GPU: how often is decided by cause, outside, in `Try again?`.
REPEATED_BY_CAUSE = {"Run training"}


def _but(check: Rule, allowed: set[str]) -> Rule:
    return lambda definition: [fault for fault in check(definition) if fault not in allowed]


def _from_nowhere_else(variable: str, function: str) -> Rule:
    return partial(invariants.answers_from_elsewhere, variable=variable, function=function)


RULES: dict[str, Rule] = {
    # promise 1: export before delete
    "every way to the deletion leads through a proof": invariants.unproven_deletions,
    "only the verification says that all is in S3": _from_nowhere_else("verification", "verify"),
    "only what was found says that a file system is empty": _from_nowhere_else("found", "find"),
    "a later export answers for itself": answers.exports_not_told_apart,
    # promise 2: nothing leaks, nothing hangs
    "every call is caught somewhere": _but(invariants.tasks_without_catch, MAY_FAIL),
    "every call is repeated patiently": _but(invariants.tasks_without_retry, REPEATED_BY_CAUSE),
    "every state exists and is entered": invariants.lost_states,
    "an end is in reach from everywhere": invariants.dead_ends,
    "every question has an answer for the rest": invariants.choices_without_default,
    "every loop is bounded by a counter": partial(invariants.unbounded_loops, counted_elsewhere=COUNTED_BY_JUDGE),
    "every counter begins at zero": partial(counting.counters_not_set_back, counted_elsewhere=COUNTED_BY_JUDGE),
    "attempts are counted, each has its number": counting.uncounted_attempts,
    "a limit counts what is waited": counting.waits_not_counted,
    "no wait is shorter than ten seconds": invariants.short_waits,
    "every call has an end": habits.calls_without_end,
    "a file system is made once": habits.made_again,
    "every call that makes or removes something names its token": habits.calls_without_token,
    "a file system that is kept again is kept since the first time": answers.forgotten_since_when,
    "what is under way is waited for": habits.impatient_calls,
    "an answer is not asked for again": habits.repeated_answers,
    # promise 3: the status tells the truth
    "why something could not be done is always said": invariants.unexplained_troubles,
    "a question is about one answer": answers.mixed_questions,
    # the language, and AWS
    "every expression parses": dataflow.unreadable_expressions,
    "every variable was assigned on every way": dataflow.unassigned_variables,
    "no variable hides another": dataflow.hidden_variables,
    "every field of $states is there": dataflow.misplaced_fields_of_states,
    "every call is one that AWS has": integrations.wrong_calls,
    "every error that is waited for can come": integrations.unknown_errors,
}


def first_broken(definition: Json) -> str | None:
    return next((name for name, rule in RULES.items() if rule(definition)), None)
