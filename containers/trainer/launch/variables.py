"""The environment variables of training."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from _belay_hook.settings import ENVIRONMENT_VARIABLE, HookSettings

from belay.contract.job import Job
from containers.trainer.launch.command import processes_of

_OUR_CODE = Path(__file__).parents[3]


def variables_of(job: Job, settings: HookSettings, inherited: Mapping[str, str]) -> dict[str, str]:
    """The task's own, what starts the hook in every Python of the image, and caches on the local disk."""
    variables = {
        **inherited,
        # `python` in a user's script is the Python that has everything.
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), inherited["PATH"]]),
        "PYTHONUNBUFFERED": "1",
        "HOME": str(settings.scratch),
        "HF_HOME": str(settings.scratch / "huggingface"),
        "XDG_CACHE_HOME": str(settings.scratch / "cache"),
        "TOKENIZERS_PARALLELISM": "false",
        ENVIRONMENT_VARIABLE: settings.to_json(),
    }
    if job.train.recipe is not None:
        # A recipe is our own code, and runs none of the user's.
        variables["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_OUR_CODE), inherited.get("PYTHONPATH")]))
    # Threads beyond the job's own CPUs would only wait for each other.
    variables.setdefault("OMP_NUM_THREADS", str(max(1, job.resources.cpus // processes_of(job))))
    return variables
