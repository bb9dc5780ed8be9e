"""What only a training on the mount can see of it; then a small training, whose saves are exported like any other.

A file of its own, which `belay doctor --live` uploads as a part of the data set: it runs in the trainer's image, and
imports nothing of Belay. Each finding is one line in the log.
"""

import ctypes
import errno
import fcntl
import hashlib
import json
import mmap
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_STEPS, _PAUSE_AT = 30, 15
_LARGE_BYTES = 24 * 1024 * 1024
_RENAME_EXCHANGE, _AT_FDCWD = 2, -100
# A round of the pump is a minute, and an export on AWS takes about as long.
_EXPORT_SECONDS = 300.0

_libc = ctypes.CDLL(None, use_errno=True)


def say(name: str, look: Callable[[], dict[str, Any]]) -> None:
    """Whatever goes wrong in one look is its finding; the others follow."""
    began = time.monotonic()
    try:
        found = look()
    except OSError as error:
        found = {"error": errno.errorcode.get(error.errno or 0, type(error).__name__)}
    except Exception as error:
        found = {"error": f"{type(error).__name__}: {error}"[:300]}
    line = {
        "kind": "inspection",
        "run": os.environ.get("BELAY_RUN", ""),
        "name": name,
        "found": found | {"seconds": round(time.monotonic() - began, 3)},
    }
    print(json.dumps(line), flush=True)


def main(sha256: str) -> None:
    root = Path.cwd()
    data, own = root / "data", root / "run"
    say("programs", lambda: {name: shutil.which(name) or "" for name in ("mount", "setpriv", "lfs", "findmnt")})
    say("mount", lambda: mount_of(root))
    say("identity", identity)
    # First of all that reads it.
    say("data", lambda: read_released(data / "large.bin", sha256))
    staging = Path(tempfile.mkdtemp(prefix="belay-", dir=own / "staging"))
    try:
        say("direct", lambda: direct(staging / "direct"))
        say("exchange", lambda: exchange(staging))
        say("lock", lambda: lock(staging / "lock"))
    finally:
        shutil.rmtree(staging)
    # In many parts, if FSx uploads in parts: their checksum may be another than that of a small file.
    (own / "events" / "large-export.bin").write_bytes(os.urandom(1024) * (_LARGE_BYTES // 1024))
    train(own / "checkpoints")


def mount_of(root: Path) -> dict[str, Any]:
    """What the kernel says: the longest mount point above the folder."""
    real = root.resolve()
    best: tuple[int, dict[str, Any]] = (-1, {})
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        first, _, second = line.partition(" - ")
        point, options = Path(first.split()[4]), first.split()[5]
        kind, _source, more = second.split(maxsplit=2)
        if real.is_relative_to(point) and len(point.parts) > best[0]:
            best = (len(point.parts), {"type": kind, "options": sorted({*options.split(","), *more.split(",")})})
    return best[1]


def identity() -> dict[str, Any]:
    lines = Path("/proc/self/status").read_text().splitlines()
    status = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    return {
        "user": os.getuid(),
        "groups": [int(one) for one in status["Groups"]],
        "effective": status["CapEff"][0].lstrip("0"),
        "bounding": status["CapBnd"][0].lstrip("0"),
        "no_new_privileges": status["NoNewPrivs"] == ["1"],
    }


def read_released(file: Path, sha256: str) -> dict[str, Any]:
    """Past the page cache, as checkpoints are read when a run resumes."""
    before = hsm_state(file)
    size = file.stat().st_size
    content = hashlib.sha256()
    with mmap.mmap(-1, 1024 * 1024) as pages:
        handle = os.open(file, os.O_RDONLY | os.O_DIRECT)
        try:
            at = 0
            while at < size:
                got = os.preadv(handle, [pages], at)
                if got == 0:
                    break
                content.update(pages[:got])
                at += got
        finally:
            os.close(handle)
    return {"before": before, "after": hsm_state(file), "is_right": content.hexdigest() == sha256, "bytes": at}


def direct(file: Path) -> dict[str, Any]:
    with mmap.mmap(-1, 1024 * 1024) as pages:
        payload = os.urandom(len(pages))
        pages[:] = payload
        handle = os.open(file, os.O_CREAT | os.O_RDWR | os.O_DIRECT)
        try:
            allocated = _libc.fallocate(handle, 0, ctypes.c_long(0), ctypes.c_long(len(pages)))
            fallocate = "works" if allocated == 0 else errno.errorcode.get(ctypes.get_errno(), "?")
            os.pwrite(handle, pages, 0)
            os.fsync(handle)
            pages[:] = bytes(len(pages))
            os.preadv(handle, [pages], 0)
            return {"is_right": pages[:] == payload, "fallocate": fallocate}
        finally:
            os.close(handle)


def exchange(folder: Path) -> dict[str, Any]:
    one, other = folder / "one", folder / "other"
    one.mkdir()
    other.mkdir()
    (one / "mark").touch()
    done = _libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    if done != 0:
        return {"refused": errno.errorcode.get(ctypes.get_errno(), "?")}
    return {"swapped": (other / "mark").exists() and not (one / "mark").exists()}


def lock(file: Path) -> dict[str, Any]:
    with file.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        with file.open("w") as second:
            try:
                fcntl.flock(second, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return {"excludes": True}
    return {"excludes": False}


def hsm_state(file: Path) -> str:
    done = subprocess.run(["lfs", "hsm_state", str(file)], capture_output=True, text=True, timeout=20)
    if done.returncode != 0:
        return f"lfs ended with {done.returncode}"
    return done.stdout.strip().removeprefix(f"{file}: ")


def wait_for_export(checkpoints: Path) -> dict[str, Any]:
    """Until Lustre shows, to a normal user, that S3 holds the first checkpoint's manifest."""
    state, deadline = "no checkpoint was saved", time.monotonic() + _EXPORT_SECONDS
    while time.monotonic() < deadline:
        # A save goes on beside the steps: the first one may not be whole yet.
        manifests = sorted(checkpoints.glob("checkpoint-*/checkpoint.manifest.json"))
        state = hsm_state(manifests[0]) if manifests else state
        if "archived" in state or state.startswith("lfs ended"):
            break
        time.sleep(1)
    return {"state": state, "archived": "archived" in state}


def train(checkpoints: Path) -> None:
    import torch
    from transformers import Trainer, TrainerCallback, TrainingArguments, ViTConfig, ViTForImageClassification

    class Pictures(torch.utils.data.Dataset[dict[str, Any]]):
        def __len__(self) -> int:
            return 256

        def __getitem__(self, index: int) -> dict[str, Any]:
            generator = torch.Generator().manual_seed(index)
            return {"pixel_values": torch.rand(1, 8, 8, generator=generator), "labels": torch.tensor(index % 10)}

    class Pause(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
            if state.global_step == _PAUSE_AT:
                say("exported", lambda: wait_for_export(checkpoints))

    shape: dict[str, Any] = {"image_size": 8, "patch_size": 4, "num_channels": 1, "num_labels": 10}
    sizes: dict[str, Any] = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = ViTConfig(**shape, **sizes, intermediate_size=16)
    with tempfile.TemporaryDirectory() as scratch:
        Trainer(
            model=ViTForImageClassification(config),
            args=TrainingArguments(
                scratch,
                max_steps=_STEPS,
                per_device_train_batch_size=8,
                logging_steps=5,
                use_cpu=True,
                report_to="none",
                disable_tqdm=True,
            ),
            train_dataset=Pictures(),
            callbacks=[Pause()],
        ).train()


if __name__ == "__main__":
    main(sys.argv[1])
