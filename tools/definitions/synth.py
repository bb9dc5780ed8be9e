"""Synthesize as the CDK CLI does, without it: `python app.py` with the context of cdk.json, into a folder."""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tools.repository import REPOSITORY

if TYPE_CHECKING:
    import pytest

# As the CLI does: construct paths in the metadata, which give every resource a readable name.
_AS_THE_CLI = {
    f"aws:cdk:{option}": True for option in ("enable-path-metadata", "enable-asset-metadata", "version-reporting")
}


class NotSynthesized(Exception):
    """`python app.py` failed; the message is what it printed."""


def synth(into: Path, *, program: Sequence[str] = ("app.py",), **settings: Any) -> Path:
    """Both stacks with these settings over those of cdk.json."""
    context = json.loads((REPOSITORY / "cdk.json").read_text())["context"]
    context = {**context, **_AS_THE_CLI, "belay": {**context["belay"], **settings}}
    done = subprocess.run(
        [sys.executable, *program],
        cwd=REPOSITORY,
        env={**os.environ, "CDK_OUTDIR": str(into), "CDK_CONTEXT_JSON": json.dumps(context)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotSynthesized(done.stderr)
    return into


def synth_once(folders: "pytest.TempPathFactory", name: str, **settings: Any) -> Path:
    """The same, once for a test run: the first process that needs it synthesizes, the others wait."""
    ours = folders.getbasetemp()
    shared = ours.parent if "PYTEST_XDIST_WORKER" in os.environ else ours
    made = shared / f"synth-{name}"
    with (shared / f"synth-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / "manifest.json").exists():
            synth(made, **settings)
    return made
