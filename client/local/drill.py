"""`make drill`: training is killed half-way. What was saved must be in S3, and the same job must go on from there."""

from rich.console import Console

from client.local.house import JOB_FILE, House, house
from client.local.runs import certified, watch
from client.local.telling import Unexpected, heading, run_command
from client.reading import Run
from contract import tags
from contract.certificate import Certificate
from contract.events import Resumed, Step
from contract.faults import parse_job
from contract.run import execution_digest
from contract.verdict import Durability, Training
from local_cloud.cloud import REPOSITORY
from local_cloud.faults import KillTraining

STATE = REPOSITORY / "build" / "drill"


def drill(console: Console) -> None:
    heading(console, "Belay on this machine, with an accident")
    with house(console, state_dir=STATE) as here:
        kill_at = _between_two_saves(here)
        heading(console, f"First run: SIGKILL for the whole training at step {kill_at}")
        here.cloud.inject(KillTraining(at_step=kill_at))
        first = here.start()
        watch(console, first)
        killed = certified(console, first)
        _check_the_fall(console, here, first, killed)

        heading(console, "Second run: the same job file again")
        second = here.start()
        watch(console, second)
        _check_the_climb(console, first, second, certified(console, second), killed)
    console.print("\nThe local cloud is shut down.")


def _between_two_saves(here: House) -> int:
    """About half-way through the example, with some steps behind the third save that will be lost."""
    every_steps = parse_job(here.job).checkpoint.every_steps
    assert every_steps is not None, f"{JOB_FILE.name} saves by time; the drill needs a step"
    return 3 * every_steps + every_steps // 2


def _check_the_fall(console: Console, here: House, run: Run, certificate: Certificate) -> None:
    described = run.describe()
    _say(
        console,
        described["status"] == "FAILED" and described["error"] == "TrainingCrashed.CheckpointsVerified",
        f"the status tells the truth: {described['status']}, {described.get('error')}",
    )
    verdict = certificate.verdict
    _say(
        console,
        verdict.durability is Durability.VERIFIED,
        f"what was saved before the kill is in S3, up to step {verdict.last_verified_step}",
    )
    tag = {"Key": tags.EXECUTION, "Value": execution_digest(run.execution_arn)}
    left = [one for one in here.clients("fsx").describe_file_systems()["FileSystems"] if tag in one["Tags"]]
    _say(console, not left, "the file system is gone, and so is its price")


def _check_the_climb(console: Console, first: Run, second: Run, certificate: Certificate, killed: Certificate) -> None:
    resumed = [event.step for event in second.look().events if isinstance(event, Resumed)]
    held = killed.verdict.last_verified_step
    _say(console, resumed == [held], f"it resumed from step {held}, which the first run had saved")
    before, after = _losses(first), _losses(second)
    _say(
        console,
        abs(after[0] - before[-1]) < abs(after[0] - before[0]),
        f"it knew what the first run had learned: loss {after[0]:.3f}, after {before[0]:.3f} at the very beginning"
        f" and {before[-1]:.3f} at the kill",
    )
    _say(console, certificate.verdict.training is Training.COMPLETED, f"it completed: {second.describe()['status']}")


def _losses(run: Run) -> list[float]:
    return [event.loss for event in run.look().events if isinstance(event, Step) and event.loss is not None]


def _say(console: Console, holds: bool, what: str) -> None:
    if not holds:
        raise Unexpected(f"this does not hold: {what}")
    console.print(f"[green]✓[/] {what}")


if __name__ == "__main__":
    run_command(drill)
