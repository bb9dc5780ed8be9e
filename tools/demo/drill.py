"""`make drill`: training is killed half-way. What was saved must be in S3, and the same job must resume from there."""

from rich.console import Console

from belay.client.reading import Run
from belay.contract.certificate import Certificate
from belay.contract.events import Resumed, Step
from belay.contract.faults import parse_job
from belay.contract.verdict import Durability, Training
from tools.console import Unexpected, heading, run_command
from tools.demo.example import JOB_FILE, Example, deployed_example
from tools.demo.show import show_certificate, watch
from tools.local_cloud.faults import KillTraining
from tools.repository import REPOSITORY

STATE = REPOSITORY / "build" / "drill"


def drill(console: Console) -> None:
    heading(console, "Belay on this machine, with an accident")
    with deployed_example(console, state_dir=STATE) as example:
        kill_at = _between_two_saves(example)
        heading(console, f"First run: SIGKILL for the whole training at step {kill_at}")
        example.deployed.cloud.inject(KillTraining(at_step=kill_at))
        first = example.start()
        watch(console, first)
        killed = show_certificate(console, first)
        _check_first(console, example, first, killed)

        heading(console, "Second run: the same job file again")
        second = example.start()
        watch(console, second)
        _check_second(console, first, second, show_certificate(console, second), killed)
    console.print("\nThe local cloud is shut down.")


def _between_two_saves(example: Example) -> int:
    """About half-way through, some steps after the third save: those steps will be lost."""
    every_steps = parse_job(example.job).checkpoint.every_steps
    assert every_steps is not None, f"{JOB_FILE.name} saves by time; the drill needs a step"
    return 3 * every_steps + every_steps // 2


def _check_first(console: Console, example: Example, run: Run, certificate: Certificate) -> None:
    described = run.describe()
    _check(
        console,
        described["status"] == "FAILED" and described["error"] == "TrainingCrashed.CheckpointsVerified",
        f"the status says what happened: {described['status']}, {described.get('error')}",
    )
    verdict = certificate.verdict
    _check(
        console,
        verdict.durability is Durability.VERIFIED,
        f"what was saved before the kill is in S3, up to step {verdict.last_verified_step}",
    )
    left = example.deployed.run_of(run.execution_arn, example.job).file_systems
    _check(console, not left, "the file system is gone, and costs nothing any more")


def _check_second(console: Console, first: Run, second: Run, certificate: Certificate, killed: Certificate) -> None:
    resumed = [event.step for event in second.snapshot().events if isinstance(event, Resumed)]
    saved = killed.verdict.last_verified_step
    _check(console, resumed == [saved], f"it resumed from step {saved}, which the first run had saved")
    before, after = _losses(first), _losses(second)
    _check(
        console,
        abs(after[0] - before[-1]) < abs(after[0] - before[0]),
        f"it resumed with what the first run had learned: loss {after[0]:.3f}; the first run had {before[0]:.3f}"
        f" at its beginning and {before[-1]:.3f} at the kill",
    )
    _check(console, certificate.verdict.training is Training.COMPLETED, f"it completed: {second.describe()['status']}")


def _losses(run: Run) -> list[float]:
    return [event.loss for event in run.snapshot().events if isinstance(event, Step) and event.loss is not None]


def _check(console: Console, holds: bool, what: str) -> None:
    if not holds:
        raise Unexpected(f"this does not hold: {what}")
    console.print(f"[green]✓[/] {what}")


if __name__ == "__main__":
    run_command(drill, description=__doc__)
