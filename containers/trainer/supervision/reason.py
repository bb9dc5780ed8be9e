"""Why training ended, in a sentence for people."""

import signal
from pathlib import Path

from belay.contract.units import duration_of
from containers.trainer.supervision.supervisor import Supervisor


def reason_of(code: int, supervisor: Supervisor, first_error: Path) -> str:
    """In the words of the training itself where it left any."""
    if supervisor.end_asked:
        return "training was ended at once, as a person asked, without waiting for its save"
    if supervisor.silent_seconds is not None:
        return f"training hung: it made no step for {duration_of(round(supervisor.silent_seconds))}"
    if supervisor.gave_up:
        return "training was killed and did not end, as happens while its file system does not answer"
    if supervisor.deadline_passed:
        return "training did not end in time when asked to, and was killed"
    if supervisor.stop_asked:
        return "training was asked to stop"
    if first_error.exists():
        return first_error.read_text(errors="replace").strip()
    if code == 128 + signal.SIGKILL:
        return "training was killed (SIGKILL), as happens when memory runs out"
    if code > 128:
        return f"training was ended by signal {code - 128}"
    return f"training ended with exit code {code}"
