"""The events of a run in their order, and everything that its tasks printed."""

import json
import time
from datetime import UTC
from typing import Any

from belay.cli import output
from belay.cli.commands.runs import has_ended
from belay.cli.connection import Cloud, connect
from belay.cli.outcome import Exit
from belay.client.progress import sentence
from belay.client.reading import Run

_POLL_SECONDS = 2.0
_LATE_MS = 60_000


def events(name: str, *, deployment_name: str, as_json: bool) -> Exit:
    """What happened, who did it, and why: the flow, the trainer, Belay."""
    run = connect(deployment_name).run(name)
    snapshot = run.snapshot()
    rows: list[dict[str, Any]] = [
        {"at": entered.at, "actor": "teardown" if entered.teardown else "flow", "what": entered.state}
        for entered in snapshot.entered
    ]
    rows += [
        {"at": one.at, "actor": "flow", "what": f"{one.error}: {' '.join(one.cause.split())}", "kind": "trouble"}
        for one in snapshot.troubles
    ]
    for event in snapshot.events:
        document = json.loads(event.line())
        rest = (
            f"{key} {value}" for key, value in document.items() if key not in ("at", "run", "node", "attempt", "kind")
        )
        what = sentence(event) or f"{event.kind.replace('_', ' ')}: {', '.join(rest)}"
        rows.append({"actor": f"trainer {event.attempt}", "what": what, **document, "at": event.at})
    for entry in snapshot.ledger.entries if snapshot.ledger else ():
        if entry.verified_at and entry.proof:
            what = f"step {entry.step} is proven in S3 ({entry.proof})"
            rows.append({"at": entry.verified_at, "actor": "belay", "what": what, "kind": "verified"})
    rows.sort(key=lambda one: one["at"])
    if as_json:
        output.print_json(rows)
        return Exit.OK
    out = output.console()
    for one in rows:
        moment = one["at"].astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        out.print(f"{moment}  {one['actor']:<10}  {one['what']}", markup=False, soft_wrap=True)
    return Exit.OK


def logs(name: str, *, follow: bool, deployment_name: str) -> Exit:
    """Everything that the tasks of a run printed: its own lines and those of the training program."""
    cloud = connect(deployment_name)
    run = cloud.run(name)
    tail = _Tail(cloud, run)
    try:
        while True:
            is_over = run.describe()["status"] != "RUNNING" and has_ended(run)
            for text in tail.new_lines():
                print(text, flush=True)
            if is_over or not follow:
                return Exit.OK
            time.sleep(_POLL_SECONDS)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED


class _Tail:
    """Only Belay's own lines carry the run: they show which streams are the run's, and those are read whole."""

    def __init__(self, cloud: Cloud, run: Run) -> None:
        self._pages = cloud.clients("logs").get_paginator("filter_log_events")
        self._group = cloud.deployment.trainer_log_group
        self._own = f'{{ $.run = "{run.prefix.run}" }}'
        self._begin_ms = int(run.started_at.timestamp() * 1000)
        self._since_ms: dict[str, int] = {}
        self._printed: dict[str, int] = {}

    def new_lines(self) -> list[str]:
        newest_ms = max(self._since_ms.values(), default=self._begin_ms)
        for line in self._read(newest_ms, filterPattern=self._own):
            self._since_ms.setdefault(line["logStreamName"], self._begin_ms)
        new = []
        for stream, since_ms in self._since_ms.items():
            for line in self._read(since_ms, logStreamNames=[stream]):
                if line["eventId"] not in self._printed:
                    new.append(line)
                    self._printed[line["eventId"]] = line["timestamp"]
                # A line may arrive later than one with a later stamp.
                self._since_ms[stream] = max(self._since_ms[stream], line["timestamp"] - _LATE_MS)
        oldest_ms = min(self._since_ms.values(), default=self._begin_ms)
        self._printed = {id: at_ms for id, at_ms in self._printed.items() if at_ms >= oldest_ms}
        return [line["message"].rstrip("\n") for line in sorted(new, key=lambda line: line["timestamp"])]

    def _read(self, since_ms: int, **asked: Any) -> list[dict[str, Any]]:
        pages = self._pages.paginate(logGroupName=self._group, startTime=since_ms, **asked)
        return [line for page in pages for line in page["events"]]
