"""What a local cloud is started with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ACCOUNT = "123456789012"
REGION = "us-east-1"
ACCESS_KEY = SECRET_KEY = "test"  # pragma: allowlist secret
HOST_PROGRAMS = Path(__file__).parent / "host" / "bin"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One local cloud: where it keeps things, where it listens, how fast its time runs."""

    state_dir: Path
    port: int = 4601
    time_scale: float = 60.0
    # Compressing a stop time-out must still leave a trainer time to save and commit on a slow machine.
    shortest_stop_seconds: float = 10.0
    new_account: bool = False
    """Begins as AWS gives an account out: the default quotas, a small concurrency, no service-linked roles."""

    @property
    def endpoint(self) -> str:
        """The one address of every service."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def file_systems(self) -> Path:
        """One folder for each living file system."""
        return self.state_dir / "fsx"

    @property
    def tasks(self) -> Path:
        """One folder for each ECS task: its working directory, mount point and output."""
        return self.state_dir / "tasks"

    @property
    def images(self) -> Path:
        """What the docker stand-in built and pushed."""
        return self.state_dir / "images"

    @property
    def home(self) -> Path:
        """HOME of the CDK CLI, whose credential cache must not meet the user's own."""
        return self.state_dir / "home"

    @property
    def scratch(self) -> Path:
        """Temporary files of the server: unpacked Lambda zips."""
        return self.state_dir / "tmp"
