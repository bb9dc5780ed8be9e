"""The file system, mounted and checked before anything is written to it."""

import re
import secrets
import subprocess
from pathlib import Path

from belay.contract.job import Stripe

_OST = re.compile(r"\[OST:[0-9]+\]")


class MountRefused(Exception):
    """What is at the mount point is not the run's file system: what training saves there would be lost."""


def mount(*, dns: str, mount_name: str, point: Path) -> None:
    point.mkdir(parents=True, exist_ok=True)
    _run("mount", "-t", "lustre", "-o", "noatime,flock", f"{dns}@tcp:/{mount_name}", str(point))


def check(point: Path) -> None:
    """Container runtimes create a missing folder silently: without this, training would fill the root disk."""
    kind = _run("findmnt", "--noheadings", "--output", "FSTYPE", "--mountpoint", str(point)).strip()
    if kind != "lustre":
        raise MountRefused(f"{point} is {kind or 'not a mount'}, not lustre")
    probe_file, payload = point / f".belay-probe-{secrets.token_hex(8)}", secrets.token_bytes(64)
    try:
        probe_file.write_bytes(payload)
        read_back = probe_file.read_bytes()
        probe_file.unlink()
    except OSError as error:
        raise MountRefused(f"{point} cannot be written, read and deleted in: {error}") from error
    if read_back != payload:
        raise MountRefused(f"{point} gave back other bytes than were written")


def storage_targets(point: Path) -> int:
    return len(_OST.findall(_run("lfs", "df", str(point))))


def stripe(folder: Path, layout: Stripe) -> None:
    """Files made in the folder from now on spread over the file system's servers."""
    _run("lfs", "setstripe", "--stripe-count", str(layout.count), "--stripe-size", f"{layout.size}M", str(folder))


def _run(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError as error:
        raise MountRefused(f"there is no program {command[0]} here") from error
    except subprocess.CalledProcessError as error:
        message = (error.stderr or error.stdout).strip() or f"exit code {error.returncode}"
        raise MountRefused(f"{' '.join(command[:2])} failed: {message}") from error
