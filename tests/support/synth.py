"""Synthesize as the CDK CLI does, without it: `python app.py` with the context of cdk.json, into a folder."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).parent.parent.parent
# The CLI asks for construct paths in the metadata; here they give every resource a name that people know.
_AS_THE_CLI = {"aws:cdk:enable-path-metadata": True, "aws:cdk:enable-asset-metadata": True}


class NotSynthesized(Exception):
    """`python app.py` failed; the message is what it printed."""


def synth(into: Path, **settings: Any) -> Path:
    """Both stacks with these settings over those of cdk.json."""
    context = json.loads((REPOSITORY / "cdk.json").read_text())["context"]
    context = {**context, **_AS_THE_CLI, "belay": {**context["belay"], **settings}}
    done = subprocess.run(
        [sys.executable, "app.py"],
        cwd=REPOSITORY,
        env={**os.environ, "CDK_OUTDIR": str(into), "CDK_CONTEXT_JSON": json.dumps(context)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise NotSynthesized(done.stderr)
    return into
