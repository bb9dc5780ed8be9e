"""What resume finds: the newest whole checkpoint, whatever else lies around."""

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_whole
from stallfree.checkpoint.store import Store


@pytest.fixture
def folders(tmp_path: Path) -> Store:
    made = Store(checkpoints=tmp_path / "checkpoints", staging=tmp_path / "staging")
    made.open()
    for step in (10, 20):
        staged = made.stage(step)
        (staged / "model.safetensors").write_bytes(bytes(range(256)) * 40)
        (staged / "optimizer.pt").write_bytes(b"moments" * 100)
        made.commit(step)
    return made


def _flip_a_byte(folder: Path) -> None:
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[5000] ^= 1
    (folder / "model.safetensors").write_bytes(content)


def _zero_the_end(folder: Path) -> None:
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:7000] + bytes(len(content) - 7000))


def _rewrite_manifest(folder: Path, text: str) -> None:
    (folder / manifest.NAME).write_text(text)


def _make_the_manifest_a_folder(folder: Path) -> None:
    (folder / manifest.NAME).unlink()
    (folder / manifest.NAME).mkdir()


def _an_older_model(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(bytes(10240))


FAULTS: dict[str, tuple[Callable[[Path], object], str]] = {
    "a flipped byte": (_flip_a_byte, "model.safetensors has other bytes"),
    "pages never written": (_zero_the_end, "model.safetensors has other bytes"),
    "the model of another step": (_an_older_model, "model.safetensors has other bytes"),
    "a cut file": (lambda f: (f / "optimizer.pt").write_bytes(b"moment"), "optimizer.pt has 6 bytes instead of 700"),
    "a missing file": (lambda f: (f / "optimizer.pt").unlink(), "optimizer.pt is missing"),
    "a file too many": (lambda f: (f / "pytorch_model.bin").touch(), "pytorch_model.bin is not in its manifest"),
    "no manifest": (lambda f: (f / manifest.NAME).unlink(), "it has no manifest"),
    "an empty manifest": (lambda f: _rewrite_manifest(f, ""), "its manifest is damaged"),
    "a manifest of something else": (lambda f: _rewrite_manifest(f, "[1]"), "its manifest is damaged"),
    "a manifest with an endless step": (
        lambda f: _rewrite_manifest(f, (f / manifest.NAME).read_text().replace('"step": 20', '"step": 2e999')),
        "its manifest is damaged",
    ),
    "a manifest without a bottom": (lambda f: _rewrite_manifest(f, "[" * 100_000), "its manifest is damaged"),
    "a manifest that points out of its folder": (
        lambda f: _rewrite_manifest(f, (f / manifest.NAME).read_text().replace('"model', '"../checkpoint-10/model')),
        "../checkpoint-10/model.safetensors is missing",
    ),
    "a manifest of the future": (lambda f: _rewrite_manifest(f, '{"version": 2}'), "version 2"),
    "a manifest that is a folder": (
        _make_the_manifest_a_folder,
        "its manifest cannot be read",
    ),
    "another step's folder": (
        lambda f: _rewrite_manifest(f, (f / manifest.NAME).read_text().replace('"step": 20', '"step": 10')),
        "that of step 10",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_newest_checkpoint_is_named_and_passed_over(folders: Store, fault: str) -> None:
    break_it, reason = FAULTS[fault]
    break_it(folders.path(20))
    search = newest_whole(folders.checkpoints)
    assert search.found is not None and search.found.step == 10
    assert [passed.path.name for passed in search.rejected] == ["checkpoint-20"]
    assert reason in search.rejected[0].reason


def test_where_all_are_broken_nothing_is_found_and_nothing_raised(folders: Store) -> None:
    for step in (10, 20):
        _flip_a_byte(folders.path(step))
    search = newest_whole(folders.checkpoints)
    assert search.found is None and len(search.rejected) == 2


def test_what_is_no_checkpoint_is_not_looked_at(folders: Store) -> None:
    (folders.checkpoints / "checkpoint-best").mkdir()
    (folders.checkpoints / "checkpoint-030").mkdir()
    (folders.checkpoints / "notes.txt").touch()
    search = newest_whole(folders.checkpoints, folders.checkpoints / "absent")
    assert search.found is not None and search.found.step == 20 and search.rejected == []


def test_the_higher_step_wins_over_all_folders_and_our_own_of_equals(folders: Store, tmp_path: Path) -> None:
    elsewhere = Store(checkpoints=tmp_path / "resume", staging=tmp_path / "other-staging")
    elsewhere.open()
    for step in (20, 30):
        (elsewhere.stage(step) / "model.safetensors").write_text("x")
        elsewhere.commit(step)
    found = newest_whole(folders.checkpoints, elsewhere.checkpoints).found
    assert found is not None and found.path == elsewhere.path(30)
    elsewhere.remove(30)
    found = newest_whole(folders.checkpoints, elsewhere.checkpoints).found
    assert found is not None and found.path == folders.path(20)


def test_the_manifest_lists_sizes_and_checksums_as_s3_reports_them(folders: Store) -> None:
    content = json.loads((folders.path(10) / manifest.NAME).read_text())
    assert content["version"] == 1 and content["step"] == 10 and content["committed_at"].endswith("Z")
    assert [(file["path"], file["bytes"]) for file in content["files"]] == [
        ("model.safetensors", 10240),
        ("optimizer.pt", 700),
    ]
    assert all(len(base64.b64decode(file["crc64nvme"])) == 8 for file in content["files"])


def test_the_checksum_is_crc64nvme(tmp_path: Path) -> None:
    # The check value of CRC-64/NVME for the nine digits, from the catalogue of CRC algorithms.
    (tmp_path / "digits").write_bytes(b"123456789")
    assert base64.b64decode(manifest.checksum(tmp_path / "digits")).hex() == "ae8b14860a799888"
