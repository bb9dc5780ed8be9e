"""What to run for a plan, and in which environment."""

import os
import sys
from pathlib import Path

import stallfree

import contract
import training
from contract.job import Job
from contract.losses import PUMP_EVERY
from contract.plan import RunPlan
from training.folders import Folders
from training.hook.belay_hook.settings import ENVIRONMENT_VARIABLE, HookSettings

_HOOK = Path(__file__).parent / "hook"


def command_of(job: Job, folders: Folders, *, stop_seconds: int) -> list[str]:
    if job.train.command is None:
        recipe = ["--module", "training.recipes", str(folders.plan), str(folders.data)]
        return [*_torchrun(job, stop_seconds), *recipe]
    program, *arguments = job.train.command
    if program.endswith(".py"):
        return [*_torchrun(job, stop_seconds), str(_find(program, folders)), *arguments]
    # Any other program brings its own launcher; the hook travels in the environment.
    return job.train.command


def processes_of(job: Job) -> int:
    """One a GPU, or one on the CPU."""
    return max(1, job.resources.gpus)


def environment_of(job: Job, settings: HookSettings) -> dict[str, str]:
    """The task's own, and with it: our hook in every Python, and caches on the local disk, not on the mount."""
    paths = [str(_HOOK), *(str(Path(package.__path__[0]).parent) for package in (training, stallfree, contract))]
    if inherited := os.environ.get("PYTHONPATH"):
        paths.append(inherited)
    environment = {
        **os.environ,
        # `python` in a user's script is the Python that has everything.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONUNBUFFERED": "1",
        "HOME": str(settings.scratch),
        "HF_HOME": str(settings.scratch / "huggingface"),
        "XDG_CACHE_HOME": str(settings.scratch / "cache"),
        "TOKENIZERS_PARALLELISM": "false",
        ENVIRONMENT_VARIABLE: settings.to_json(),
    }
    # Threads beyond the job's own CPUs would only wait for each other.
    environment.setdefault("OMP_NUM_THREADS", str(max(1, job.resources.cpus // processes_of(job))))
    return environment


def hook_settings(plan: RunPlan, folders: Folders, *, attempt: int, scratch: Path, stop_seconds: int) -> HookSettings:
    checkpoint = plan.job.checkpoint
    return HookSettings(
        run=plan.run,
        attempt=attempt,
        job=plan.job.name,
        root=folders.root,
        checkpoints=folders.checkpoints,
        staging=folders.staging,
        resume=folders.resume,
        resume_step=plan.resume.step if plan.resume else None,
        events=folders.events,
        every_steps=checkpoint.every_steps,
        every_seconds=checkpoint.every_seconds,
        keep=checkpoint.keep,
        stop_seconds=stop_seconds,
        scratch=scratch,
        max_loss_seconds=plan.max_loss_seconds,
        failures_per_hour=(checkpoint.failures_per_day or 0.0) / 24,
        proof_seconds=PUMP_EVERY.total_seconds(),
        exact_data=checkpoint.exact_data,
    )


def _torchrun(job: Job, stop_seconds: int) -> list[str]:
    return [
        *(sys.executable, "-m", "training.torchrun"),
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
