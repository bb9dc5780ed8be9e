from tools.local_cloud.faults import KillTraining
from tools.local_runs.jobs import digits
from tools.local_runs.runs import Deployed


def test_the_same_job_again_resumes_from_the_newest_verified_step(deployed: Deployed) -> None:
    job = digits("resumed", steps=300)
    killed = deployed.start(job, faults=(KillTraining(at_step=30, on=["saved"]),)).finish()
    newest = killed.verified_steps[-1]
    again = deployed.start(job).finish()

    assert newest >= 30
    assert again.status == "SUCCEEDED", again.story()
    [resumed] = [event for event in again.events if event["kind"] == "resumed"]
    assert resumed["step"] == newest
    assert min(event["step"] for event in again.events if event["kind"] == "step") > newest


def test_with_resume_never_the_same_job_starts_from_step_zero(deployed: Deployed) -> None:
    first = deployed.start(digits("afresh", steps=10)).finish()
    second = deployed.start(digits("afresh", steps=10, resume="never")).finish()

    assert (first.status, second.status) == ("SUCCEEDED", "SUCCEEDED")
    assert not [event for event in second.events if event["kind"] == "resumed"]


def test_two_jobs_at_once_do_not_see_each_other(deployed: Deployed) -> None:
    one, two = deployed.start(digits("job-1")), deployed.start(digits("job-10", steps=20))
    one.finish()
    two.finish()

    assert (one.status, two.status) == ("SUCCEEDED", "SUCCEEDED"), one.story() + two.story()
    assert (one.verified_steps[-1], two.verified_steps[-1]) == (40, 20)
    assert not set(one.keys) & set(two.keys)
    assert {event["run"] for event in one.events} == {one.run}
    assert {event["run"] for event in two.events} == {two.run}
