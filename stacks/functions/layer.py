"""The Lambdas' dependencies as a layer of our own: built by pip for arm64, without Docker, from pinned versions."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from aws_cdk import RemovalPolicy
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

_REPOSITORY = Path(__file__).parents[2]
_REQUIREMENTS = _REPOSITORY / "requirements" / "lambdas.txt"
PYTHON = "3.14"
# On AWS these come with the runtime, which keeps them newer than a layer would.
_IN_RUNTIME = ("boto3", "botocore", "s3transfer", "jmespath", "urllib3", "dateutil", "six.py")


class LayerNotBuilt(Exception):
    """pip could not put the layer together; the message is what pip said."""


def dependencies(scope: Construct, id: str) -> lambda_.LayerVersion:
    return lambda_.LayerVersion(
        scope,
        id,
        code=lambda_.Code.from_asset(str(_built())),
        compatible_architectures=[lambda_.Architecture.ARM_64],
        compatible_runtimes=[lambda_.Runtime.PYTHON_3_14],
        description="Powertools and pydantic for Belay's Lambdas",
        removal_policy=RemovalPolicy.DESTROY,
    )


def _built() -> Path:
    """Built once for each content of the requirements file; later synths find it there."""
    digest = hashlib.sha256(_REQUIREMENTS.read_bytes() + PYTHON.encode()).hexdigest()[:12]
    layer = _REPOSITORY / "build" / f"lambda-layer-{digest}"
    if not layer.exists():
        layer.parent.mkdir(exist_ok=True)
        print("building the Lambda layer (once) ...", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=layer.parent, prefix="unfinished-") as folder:
            unfinished = Path(folder) / layer.name
            _install(unfinished / "python")
            try:
                unfinished.rename(layer)
            except OSError:
                # Another synth, at the same time, built the same.
                if not layer.exists():
                    raise
    return layer


def _install(into: Path) -> None:
    command = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--no-compile", "--target", str(into)),
        *("--platform", "manylinux2014_aarch64", "--platform", "manylinux_2_28_aarch64"),
        *("--python-version", PYTHON, "--implementation", "cp", "--only-binary=:all:"),
        *("--requirement", str(_REQUIREMENTS)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise LayerNotBuilt(f"pip could not build the Lambda layer:\n{done.stderr.strip()}")
    for name in _IN_RUNTIME:
        for leftover in into.glob(f"{name}*"):
            if leftover.is_dir():
                shutil.rmtree(leftover)
            else:
                leftover.unlink()
