"""The trainer task, from its start to its exit code."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

from contract import exit_codes
from contract.events import Failed, Finished, Mounted, Started, Stopping
from contract.plan import RunPlan
from training import command, mount, privileges
from training.allowance import allowance_of
from training.ending import wanted_at_once
from training.environment import Environment, EnvironmentIncomplete
from training.events import Recorder
from training.folders import Folders, give
from training.plan import PlanUnreadable, read_plan
from training.supervise import Supervisor, reason_of


def main() -> int:
    try:
        environment = Environment.read(os.environ)
    except EnvironmentIncomplete as fault:
        print(f"The trainer cannot start: {fault}.", file=sys.stderr)
        return 2
    # The first process of a container ignores SIGTERM unless it says otherwise. Later the supervisor takes over.
    signal.signal(signal.SIGTERM, leave)
    recorder = Recorder(run=environment.run, attempt=environment.attempt)
    try:
        return run(environment, recorder)
    except (mount.MountRefused, PlanUnreadable, OSError, subprocess.CalledProcessError) as fault:
        recorder.record(Failed, exit_code=1, reason=f"before training: {fault}")
        return 1


def leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def run(environment: Environment, recorder: Recorder) -> int:
    targets = mount_scratch(environment)
    folders = Folders(environment.mount_point)
    plan = read_plan(folders.plan)
    prefix = privileges.drop_to(environment.user)
    owner = privileges.owner_after(prefix)
    folders.prepare(owner)
    if targets > 1:
        mount.stripe(folders.staging, plan.job.scratch.stripe)

    recorder.also_to(folders.events)
    recorder.record(Started, job=plan.job.name, processes=command.processes_of(plan.job))
    recorder.record(Mounted, file_system=environment.scratch_dns, storage_targets=targets)

    scratch = Path(tempfile.mkdtemp(prefix="belay-"))
    try:
        return train(environment, plan, folders, recorder, prefix=prefix, owner=owner, scratch=scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def mount_scratch(environment: Environment) -> int:
    """Mounted and proven; the number of storage targets."""
    point = environment.mount_point
    mount.mount(dns=environment.scratch_dns, mount_name=environment.scratch_mount_name, point=point)
    mount.prove(point)
    return mount.storage_targets(point)


def train(
    environment: Environment,
    plan: RunPlan,
    folders: Folders,
    recorder: Recorder,
    *,
    prefix: list[str],
    owner: int,
    scratch: Path,
) -> int:
    settings = command.hook_settings(
        plan, folders, attempt=environment.attempt, scratch=scratch, stop_seconds=environment.stop_seconds
    )
    settings.trainers.mkdir()
    for folder in (scratch, settings.trainers):
        give(folder, owner)

    allowance = allowance_of(plan, began=environment.attempt_began, stop_seconds=environment.stop_seconds)

    def stopping(number: signal.Signals) -> None:
        why = allowance.spent if supervisor.all_spent else None
        recorder.record(Stopping, signal=number.name, deadline_seconds=environment.stop_seconds, why=why)

    supervisor = Supervisor(
        trainers=settings.trainers,
        seconds_left=allowance.seconds_left(datetime.now(UTC)),
        stop_seconds=environment.stop_seconds,
        on_stop=stopping,
        at_once=lambda: wanted_at_once(os.environ),
    )
    code = supervisor.run(
        [*prefix, *command.command_of(plan.job, folders, stop_seconds=environment.stop_seconds)],
        environment=command.environment_of(plan.job, settings),
        folder=folders.root,
    )
    if code == 0:
        recorder.record(Finished, step=folders.newest_step())
        return 0
    reason = allowance.spent if supervisor.all_spent else reason_of(code, supervisor, settings.last_words)
    recorder.record(Failed, exit_code=code, reason=reason)
    if supervisor.all_spent:
        return allowance.exit_code
    return 1 if code in exit_codes.RESERVED else code


if __name__ == "__main__":
    sys.exit(main())
