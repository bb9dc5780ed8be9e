"""Every AWS call of whole runs, judged by a simulator of IAM against the policies that are synthesized."""

from tools.definitions.templates import Assembly
from tools.proofs.permissions import recorded_calls
from tools.proofs.permissions.simulator import ALLOWED, ask, policies_of

TRAIN = "BelayTraining/Train/Machine/Role"


def test_every_call_of_a_run_is_allowed(assembly: Assembly) -> None:
    asked = recorded_calls.questions(recorded_calls.golden())
    verdicts = ask(policies_of(assembly), asked)
    assert len(asked) > 60
    assert [(one, verdict) for one, verdict in zip(asked, verdicts, strict=True) if verdict != ALLOWED] == []


def test_without_one_statement_its_calls_are_refused(assembly: Assembly) -> None:
    """The simulator judges, and not the recording: what was allowed locally is refused without the policy for it."""
    policies = policies_of(assembly)
    for document in policies.of_roles[TRAIN]:
        document["Statement"] = [one for one in document["Statement"] if one["Action"] != "fsx:CreateFileSystem"]
    asked = recorded_calls.questions(recorded_calls.golden())
    verdicts = ask(policies, asked)
    refused = {one.action for one, verdict in zip(asked, verdicts, strict=True) if verdict != ALLOWED}
    assert refused == {"fsx:CreateFileSystem"}
