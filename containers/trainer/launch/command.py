"""What to run for a job."""

import sys
from pathlib import Path

from belay.contract.job import Job
from containers.trainer.mount.folders import Folders

_TORCHRUN = Path(__file__).with_name("torchrun.py")


def command_of(job: Job, folders: Folders, *, stop_seconds: int) -> list[str]:
    """To be run in the mount's root."""
    # `env` goes there, not we: on a mount that does not answer, only what is to be killed would wait.
    return ["env", f"--chdir={folders.root}", *_program_of(job, folders, stop_seconds)]


def processes_of(job: Job) -> int:
    """One a GPU, or one on the CPU."""
    return max(1, job.resources.gpus)


def _program_of(job: Job, folders: Folders, stop_seconds: int) -> list[str]:
    if job.train.command is None:
        recipe = ["--module", "containers.trainer.recipes", str(folders.plan), str(folders.data)]
        return [*_torchrun(job, stop_seconds), *recipe]
    program, *arguments = job.train.command
    if program.endswith(".py"):
        return [*_torchrun(job, stop_seconds), str(_find(program, folders)), *arguments]
    # Any other program brings its own launcher.
    return job.train.command


def _torchrun(job: Job, stop_seconds: int) -> list[str]:
    return [
        # As a file and with -P, so that the launcher has none of our modules on its path either.
        *(sys.executable, "-P", str(_TORCHRUN)),
        "--standalone",
        f"--nproc-per-node={processes_of(job)}",
        # Another attempt is another task. Restarted in place, workers would meet the keys of the earlier ones in
        # torchrun's store; without restarts they share it, and need no port that could be taken in the meantime.
        "--max-restarts=0",
        # Its own countdown to SIGKILL must not end before ours.
        f"--shutdown-timeout={stop_seconds}",
    ]


def _find(script: str, folders: Folders) -> Path:
    """As given from the mount's root, or inside the data; an absolute path is itself."""
    in_data = folders.data / script
    return in_data if in_data.exists() else folders.root / script
