"""What identifies a run: derived from its execution alone, so that anyone who knows the execution finds it."""

import hashlib
import re
from datetime import UTC, datetime

NODES = 1
"""A run has one node, until a job can ask for more."""

RUN = re.compile(r"[0-9]{8}t[0-9]{6}z-[0-9a-f]{8}")


def execution_digest(execution_arn: str) -> str:
    """Fits where an ARN does not: a tag value, a client token, an execution name."""
    return hashlib.sha256(execution_arn.encode()).hexdigest()[:16]


def run_id(execution_arn: str, started_at: datetime) -> str:
    """Sorts by time, reads like one, and differs for every execution."""
    moment = started_at.astimezone(UTC).strftime("%Y%m%dt%H%M%Sz")
    return f"{moment}-{execution_digest(execution_arn)[:8]}"


def started_at_of(run: str) -> datetime:
    """The whole second in which a run started; its id says so."""
    return datetime.strptime(run.split("-")[0], "%Y%m%dt%H%M%Sz").replace(tzinfo=UTC)
