"""Mount, read the plan, train, and end with training's exit code."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import FrameType

from belay.contract.events import Failed, Mounted, Started
from belay.contract.task import ONLY_START
from containers.trainer.entry.environment import Environment, EnvironmentIncomplete
from containers.trainer.entry.host import host
from containers.trainer.entry.recorder import Recorder
from containers.trainer.entry.training import train
from containers.trainer.launch import privileges
from containers.trainer.launch.command import processes_of
from containers.trainer.mount import lustre
from containers.trainer.mount.folders import Folders
from containers.trainer.mount.plan import PlanUnreadable, read_plan

# The log has the events already: the mount's file is not worth a stop that comes too late.
_LAST_EVENTS_SECONDS = 3.0


def main() -> int:
    if ONLY_START in sys.argv[1:]:
        return 0
    try:
        environment = Environment.read(os.environ)
    except EnvironmentIncomplete as fault:
        print(f"The trainer cannot start: {fault}.", file=sys.stderr)
        return 2
    # The first process of a container ignores SIGTERM unless it says otherwise. Later the supervisor takes over.
    signal.signal(signal.SIGTERM, leave)
    recorder = Recorder(run=environment.run, node=environment.node, attempt=environment.attempt)
    try:
        return run(environment, recorder)
    except (lustre.MountRefused, PlanUnreadable, OSError, subprocess.CalledProcessError) as fault:
        recorder.record(Failed, exit_code=1, reason=f"before training: {fault}")
        return 1
    finally:
        recorder.close(within_seconds=_LAST_EVENTS_SECONDS)


def leave(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def run(environment: Environment, recorder: Recorder) -> int:
    storage_targets = mount_scratch(environment)
    folders = Folders(environment.mount_point)
    plan = read_plan(folders.plan, within_seconds=environment.plan_seconds)
    prefix = privileges.drop_to(environment.user)
    owner = privileges.owner_after(prefix)
    folders.prepare(owner)
    if storage_targets > 1:
        lustre.stripe(folders.staging, plan.job.scratch.stripe)

    recorder.also_to(folders.events)
    recorder.record(Started, job=plan.job.name, processes=processes_of(plan.job), host=host(os.environ))
    recorder.record(Mounted, file_system=environment.scratch_dns, storage_targets=storage_targets)

    scratch = Path(tempfile.mkdtemp(prefix="belay-"))
    try:
        return train(environment, plan, folders, recorder, prefix=prefix, owner=owner, scratch=scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def mount_scratch(environment: Environment) -> int:
    """Mounted and checked; the number of storage targets."""
    point = environment.mount_point
    lustre.mount(dns=environment.scratch_dns, mount_name=environment.scratch_mount_name, point=point)
    lustre.check(point)
    return lustre.storage_targets(point)


if __name__ == "__main__":
    sys.exit(main())
