"""What an attempt notes of its host, in each way that hosts write it down; what cannot be read is left out."""

import os
from pathlib import Path

import pytest

from containers.trainer.entry import host
from containers.trainer.entry.host import host as facts

# As NVIDIA's two kinds of kernel modules write /proc/driver/nvidia/version.
PROPRIETARY = """NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue Sep 23 09:55:41 UTC 2026
GCC version:  gcc version 11.5.0 20240719 (Red Hat 11.5.0-5) (GCC)
"""
OPEN = """NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (builder@host)
GCC version:  gcc version 11.5.0 20240719 (Red Hat 11.5.0-5) (GCC)
"""


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A host with none of the files."""
    for name in ("_DRIVER", "_LUSTRE", "_AMI"):
        monkeypatch.setattr(host, name, tmp_path / name)
    monkeypatch.setattr(host, "metadata", lambda _environ: {})
    return tmp_path


@pytest.mark.parametrize("written", [PROPRIETARY, OPEN])
def test_the_driver_is_found_in_what_either_kernel_module_writes(bare: Path, written: str) -> None:
    (bare / "_DRIVER").write_text(written)
    assert facts({}).driver == "580.95.05"


@pytest.mark.parametrize("written", ["lustre: 2.15.6\n", "2.15.6\n"])
def test_the_version_of_lustre_is_noted_with_or_without_its_name_before_it(bare: Path, written: str) -> None:
    (bare / "_LUSTRE").write_text(written)
    assert facts({}).lustre == "2.15.6"


def test_the_image_of_the_instance_and_that_of_the_container_are_two_things(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (bare / "_AMI").write_text("ami-0123456789abcdef0\n")
    monkeypatch.setattr(host, "metadata", lambda _environ: {"ImageID": "sha256:0123"})
    found = facts({})
    assert (found.ami, found.image) == ("ami-0123456789abcdef0", "sha256:0123")


def test_what_cannot_be_read_is_left_out_and_stops_nothing() -> None:
    found = facts({})
    assert (found.ami, found.driver, found.lustre, found.image) == (None, None, None, None)
    assert found.kernel == os.uname().release


def test_a_file_that_is_empty_or_no_text_says_nothing(bare: Path) -> None:
    (bare / "_AMI").write_text("\n")
    (bare / "_LUSTRE").write_text("")
    (bare / "_DRIVER").write_bytes(b"\xff\xfe\x00")
    found = facts({})
    assert (found.ami, found.driver, found.lustre) == (None, None, None)
