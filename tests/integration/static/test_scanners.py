"""Each scanner of the gate sees a planted defect, with the very options that the gate gives it."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.repository import REPOSITORY

PROGRAMS = Path(sys.executable).parent
MAKEFILE = (REPOSITORY / "Makefile").read_text()


def scan(program: str, *words: str) -> str:
    """What it says; it must also have failed, or the gate would go on."""
    done = subprocess.run(
        [str(PROGRAMS / program), *words],
        cwd=REPOSITORY,
        env={**os.environ, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 1, said
    return said


def test_bandit_sees_what_it_is_there_for(tmp_path: Path) -> None:
    planted = {
        "B602": "import subprocess\nsubprocess.run('ls ' + input(), shell=True)\n",
        "B614": "import torch\ntorch.load('model.pt')\n",
        "B301": "import pickle\npickle.loads(b'')\n",
        "B506": "import yaml\nyaml.load('')\n",
        "B104": "import socket\nsocket.socket().bind(('0.0.0.0', 80))\n",
    }
    for name, source in planted.items():
        (tmp_path / f"{name}.py").write_text(source)
    said = scan(
        "bandit",
        "--quiet",
        "--severity-level",
        "medium",
        "--recursive",
        "--configfile",
        "pyproject.toml",
        str(tmp_path),
    )
    assert {name for name in planted if name in said} == set(planted)


# In parts, or this file would hold the secrets that it plants.
@pytest.mark.parametrize(
    "planted",
    [
        "key = 'AKIA" + "IOSFODNN7EXAMPLE'",
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "pass" + "word = 'correct horse battery'",
        "token = 'ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8'",
        "url = 'https://user:" + "s3cret-word@example.com'",
    ],
    ids=["AWS key", "private key", "password", "GitHub token", "URL"],
)
def test_the_search_for_secrets_finds_one(tmp_path: Path, planted: str) -> None:
    (tmp_path / "settings.py").write_text(planted + "\n")
    options = re.search(r"detect-secrets-hook (.+)", MAKEFILE)
    assert options
    assert "Potential secrets" in scan("detect-secrets-hook", *options[1].split(), str(tmp_path / "settings.py"))


def test_hadolint_sees_an_image_without_a_tag_and_the_last_user_being_root(tmp_path: Path) -> None:
    dockerfile = tmp_path / "Dockerfile"
    dockerfile.write_text("FROM amazonlinux\nRUN cd /tmp && sudo dnf install -y gcc\nUSER root\n")
    said = scan("hadolint", str(dockerfile))
    assert {rule for rule in ("DL3006", "DL3003", "DL3004", "DL3002") if rule in said} == {
        *("DL3006", "DL3003", "DL3004", "DL3002")
    }
