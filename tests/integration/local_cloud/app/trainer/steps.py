"""Mounts, makes a few steps, leaves one checkpoint for each, and ends as its environment says."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

mount_point = os.environ["BELAY_MOUNT_POINT"]
source = f"{os.environ['SCRATCH_DNS']}@tcp:/{os.environ['SCRATCH_MOUNT_NAME']}"
subprocess.run(["mount", "-t", "lustre", "-o", "noatime,flock", source, mount_point], check=True)
asked = ["findmnt", "--noheadings", "--output", "FSTYPE", "--mountpoint", mount_point]
assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip() == "lustre"


def say(kind: str, **fields: object) -> None:
    print(json.dumps({"kind": kind, **fields}), flush=True)


def on_sigterm(*_: object) -> None:
    say("stopping")
    sys.exit(int(os.environ.get("EXIT_ON_SIGTERM", "143")))


signal.signal(signal.SIGTERM, on_sigterm)
# A rank of torchrun lives in a session of its own: nothing of it may survive the task.
rank = subprocess.Popen(["sleep", "1000"], start_new_session=True)
say("started", rank_pid=rank.pid, credentials="AWS_ACCESS_KEY_ID" in os.environ)
checkpoints = Path(mount_point) / "run" / "checkpoints"
for step in range(1, int(os.environ["STEPS"]) + 1):
    time.sleep(float(os.environ.get("STEP_SECONDS", "0.05")))
    folder = checkpoints / f"checkpoint-{step}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.bin").write_bytes(bytes([step]) * 1000)
    (folder / "manifest.json").write_text("{}")
    say("saved", step=step)
sys.exit(int(os.environ.get("EXIT_CODE", "0")))
