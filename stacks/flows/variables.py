"""The variables of both flows, each with the model of what it holds."""

from belay.contract.job import Retry
from belay.contract.messages.probes import ScratchPhaseAnswer
from belay.contract.messages.teardown import CertifyAnswer, FindAnswer, VerifyAnswer
from belay.contract.messages.training import AcceptAnswer, Attempts, LimitsInSeconds, TaskRequest
from belay.contract.verdict import Ending
from stacks.flows.jsonata import Variable

ended = Variable("ended", Ending)
"""How training ended, as far as is known."""


# A history has room for 25,000 events: at this pace for more than three days of waiting, the most that a job may ask.
WAIT_SECONDS = 900


class OfTrain:
    request = Variable("request", AcceptAnswer)
    run = Variable("run")
    task = Variable("task", TaskRequest)
    limits = Variable("limits", LimitsInSeconds)
    retry = Variable("retry", Retry)
    file_system_id = Variable("file_system_id")
    links_made = Variable("links_made")
    relinks = Variable("relinks")
    """How many of those failed, and are made again."""
    association_id = Variable("association_id")
    scratch = Variable("scratch", ScratchPhaseAnswer)
    start_polls = Variable("start_polls")
    """How often the run has waited for AWS, each time for WAIT_SECONDS."""
    wait = Variable("wait")
    """What it waits for."""
    attempt = Variable("attempt")
    attempt_began = Variable("attempt_began")
    """Assigned before the task is started: a repeated call with the same token must ask for the same."""
    attempts = Variable("attempts", Attempts)
    """Those that ended, by cause."""
    failure = Variable("failure")
    """The error and the cause of the last attempt."""
    verdict = Variable("verdict", CertifyAnswer)


class OfTeardown:
    found = Variable("found", FindAnswer)
    is_there = Variable("is_there")
    """Whether there is a file system."""
    starts_again = Variable("starts_again")
    """Whether the run goes on without its file system."""
    exported = Variable("exported")
    """Whether the last export task came to its end."""
    task_id = Variable("task_id")
    """Of that export task."""
    verification = Variable("verification", VerifyAnswer)
    proofs = Variable("proofs")
    """How often the export was verified."""
    trouble = Variable("trouble")
    """Why the export cannot be verified; empty as long as nothing is wrong."""
    certificate = Variable("certificate", CertifyAnswer)
