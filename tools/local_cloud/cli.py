"""The command line: `python -m tools.local_cloud up`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tools.local_cloud import environment
from tools.local_cloud.engines import EngineChanged
from tools.local_cloud.server import PortTaken, serve
from tools.local_cloud.settings import Settings

READY = "The local cloud is ready"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serves until it is interrupted."""
    settings = _read(arguments)
    try:
        serve(settings, on_ready=lambda: _print_exports(settings))
    except (PortTaken, EngineChanged) as error:
        print(f"local_cloud: {error}", file=sys.stderr)
        return 1
    return 0


def _read(arguments: Sequence[str] | None) -> Settings:
    parser = argparse.ArgumentParser(prog="python -m tools.local_cloud", description="AWS on this machine, for Belay.")
    commands = parser.add_subparsers(required=True, metavar="command")
    up = commands.add_parser("up", help="serve on 127.0.0.1 until interrupted")
    up.add_argument("--state", type=Path, default=Path("build/cloud"), help="folder for file systems, tasks and images")
    up.add_argument("--port", type=int, default=4601)
    up.add_argument(
        "--time-scale",
        type=float,
        default=60.0,
        help="how many AWS seconds pass in a real one: waits, retries, schedules, FSx and ECS start-up (default 60)",
    )
    up.add_argument("--shortest-stop", type=float, default=10.0, help="real seconds a stopping task has at least")
    up.add_argument(
        "--new-account",
        action="store_true",
        help="begin as AWS gives an account out: default quotas, a concurrency of 10, no service-linked roles",
    )
    read = parser.parse_args(arguments)
    return Settings(
        state_dir=read.state.resolve(),
        port=read.port,
        time_scale=read.time_scale,
        shortest_stop_seconds=read.shortest_stop,
        new_account=read.new_account,
    )


def _print_exports(settings: Settings) -> None:
    lines = [f"export {name}={value}" for name, value in environment.for_aws(settings).items()]
    print("\n".join([f"{READY} at {settings.endpoint}. For the AWS CLI and boto3:", *lines]), flush=True)
