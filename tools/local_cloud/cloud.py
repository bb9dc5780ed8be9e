"""A local cloud as a Python object."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tools.local_cloud import environment
from tools.local_cloud.clients import Clients
from tools.local_cloud.control import CALLS, FAULTS, READY
from tools.local_cloud.faults import Fault
from tools.local_cloud.settings import ACCOUNT, REGION, Settings
from tools.repository import REPOSITORY

CDK = REPOSITORY / "node_modules" / ".bin" / "cdk"
START_SECONDS = 60
STOP_SECONDS = 10


class CloudFailed(RuntimeError):
    """The server did not start, or a CDK command failed; the message has its output."""


class LocalCloud:
    """A server in a process of its own, from `with` to its end."""

    def __init__(
        self,
        *,
        state_dir: Path,
        port: int | None = None,
        time_scale: float = 60.0,
        shortest_stop_seconds: float = 10.0,
        new_account: bool = False,
    ) -> None:
        """`port`: without one, a port that nothing listens on now."""
        self.settings = Settings(
            state_dir=state_dir.resolve(),
            port=port or _free_port(),
            time_scale=time_scale,
            shortest_stop_seconds=shortest_stop_seconds,
            new_account=new_account,
        )
        self._clients = Clients(endpoint=self.settings.endpoint)
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> LocalCloud:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def log(self) -> Path:
        """The output of the server."""
        return self.settings.state_dir / "server.log"

    def start(self) -> None:
        """Starts the server and returns when it answers."""
        self.settings.state_dir.mkdir(parents=True, exist_ok=True)
        s = self.settings
        options = {"--state": s.state_dir, "--port": s.port, "--time-scale": s.time_scale}
        options["--shortest-stop"] = s.shortest_stop_seconds
        words = [str(word) for pair in options.items() for word in pair]
        words += ["--new-account"] if s.new_account else []
        with self.log.open("wb") as log:
            self._server = subprocess.Popen(
                [sys.executable, "-m", "tools.local_cloud", "up", *words],
                cwd=REPOSITORY,
                stdout=log,
                stderr=subprocess.STDOUT,
                # Ctrl-C reaches the whole terminal: the server must outlive the clean-up that uses it.
                start_new_session=True,
            )
        deadline = time.monotonic() + START_SECONDS
        while not self._answers():
            if self._server.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise CloudFailed(f"the local cloud did not start:\n{self.log.read_text()}")
            time.sleep(0.05)

    def stop(self) -> None:
        """Stops the server that we started, by its id."""
        if self._server is None:
            return
        self._server.terminate()
        try:
            self._server.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()
        self._server = None

    def environment(self) -> dict[str, str]:
        """This process's environment, pointed to the local cloud; for cdk, aws and anything with boto3."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
        return {**ours, **environment.for_cdk(self.settings), "PATH": path}

    def client(self, service: str) -> Any:
        """A boto3 client with every right."""
        return self._clients.get(service)

    def bootstrap(self) -> str:
        """`cdk bootstrap`: every account needs it once."""
        # From a folder without a cdk.json: bootstrapping needs no app, and loading one takes long.
        return self.cdk(["bootstrap", f"aws://{ACCOUNT}/{REGION}"], app_dir=self.settings.state_dir)

    def deploy(self, app_dir: Path, **context: str) -> str:
        """`cdk deploy`, with these values for `--context`; gives its output."""
        said = [word for name, value in context.items() for word in ("--context", f"{name}={value}")]
        return self.cdk(["deploy", "--all", "--require-approval", "never", *said], app_dir=app_dir)

    def diff(self, app_dir: Path) -> str:
        """`cdk diff`; gives its output."""
        return self.cdk(["diff", "--all"], app_dir=app_dir)

    def destroy(self, app_dir: Path) -> str:
        """`cdk destroy`; gives its output."""
        return self.cdk(["destroy", "--all", "--force"], app_dir=app_dir)

    def cdk(self, words: list[str], *, app_dir: Path) -> str:
        """Any command of the real CDK CLI, on an app or on a synthesized assembly."""
        if (app_dir / "manifest.json").is_file():
            where = ["--app", str(app_dir)]
        else:
            where = ["--output", str(self.settings.state_dir / "cdk.out" / app_dir.resolve().name)]
        done = subprocess.run(
            [str(CDK), *words, *where, "--no-notices"],
            cwd=app_dir,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if done.returncode:
            raise CloudFailed(f"cdk {words[0]} failed:\n{done.stdout}")
        return done.stdout

    def inject(self, fault: Fault) -> None:
        """From now on this fault happens."""
        self._ask("POST", FAULTS, fault.to_json())

    def clear_faults(self, where: Mapping[str, str] | None = None) -> None:
        """Removes all faults, or those for exactly these labels."""
        self._ask("DELETE", FAULTS, where)

    def waiting_faults(self) -> list[Fault]:
        """Every fault that can still happen."""
        return [Fault.from_json(raw) for raw in self._ask("GET", FAULTS)]

    def calls(self) -> list[dict[str, Any]]:
        """Every distinct call of a role: role, action, resource, context, and whether it was allowed."""
        answer: list[dict[str, Any]] = self._ask("GET", CALLS)
        return answer

    def _ask(self, method: str, path: str, value: Any = None, *, seconds: float = 10) -> Any:
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(f"{self.settings.endpoint}{path}", data=body, method=method)
        with urllib.request.urlopen(request, timeout=seconds) as answer:  # nosec B310 # our own address
            return json.load(answer)

    def _answers(self) -> bool:
        try:
            # Another cloud on this port would answer too: ask for our own.
            return self._server is not None and self._ask("GET", READY, seconds=1)["process_id"] == self._server.pid
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
