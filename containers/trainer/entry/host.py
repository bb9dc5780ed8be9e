"""What this attempt runs on, for the day when an update of it breaks something: the instance's image is the newest."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from belay.contract.events import Host
from belay.contract.task import HOST_FACTS
from containers.trainer.supervision.agent import metadata

_DRIVER = Path("/proc/driver/nvidia/version")
_LUSTRE = Path("/sys/fs/lustre/version")
# The instance's user data writes it, and the task definition mounts it (stacks/backends).
_AMI = Path(HOST_FACTS) / "ami-id"


def host(environ: Mapping[str, str]) -> Host:
    """What cannot be read is left out."""
    driver = re.search(r"Kernel Module(?: for \S+)?\s+(\S+)", _text(_DRIVER) or "")
    return Host(
        ami=_text(_AMI),
        kernel=os.uname().release,
        driver=driver[1] if driver else None,
        lustre=(_text(_LUSTRE) or "").removeprefix("lustre: ") or None,
        image=metadata(environ).get("ImageID"),
    )


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip() or None
    except OSError:
        return None
