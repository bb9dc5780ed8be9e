"""A round of the pump against the age of its runs and their number, beside the reading that it had before.

`python -m tools.benchmarks.pump` runs the deployed handler on an AWS in memory that sleeps as long as a call is assumed
to take. Calls are counted; seconds are those of this machine and of the assumed latencies. The reading before is not
run in full: for one run it is counted call by call, without sleeping, and multiplied: it served one after another.
"""

import io
import os
import statistics
import time
from contextlib import redirect_stdout
from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console

os.environ |= {
    "BELAY_BUCKET": "belay-runs",
    "BELAY_DEPLOYMENT": "belay",
    "BELAY_TRAINER_LOG_GROUP": "/belay/trainer",
    "BELAY_NOTICES_TOPIC_ARN": "arn:aws:sns:us-east-1:123456789012:notices",
    "POWERTOOLS_SERVICE_NAME": "belay",
    "POWERTOOLS_TRACE_DISABLED": "true",
    "POWERTOOLS_LOG_LEVEL": "ERROR",
}

from belay.aws import clock
from belay.contract.ledger import Ledger, LedgerEntry, Proof
from belay.contract.pump_state import StreamCursor
from belay.contract.run import started_at_of
from belay.policy import ledgers, pump_state
from lambdas.safety import pump
from tools.benchmarks.pump.aws import GROUP, Aws, Run, etag_of
from tools.console import doing
from tools.figures import Figure, publish
from tools.proofs.fakes.world import Context, checksum

_NOW = datetime(2026, 11, 21, 12, 0, 30, tzinfo=UTC)
_AGES = {"1 hour": timedelta(hours=1), "30 days": timedelta(days=30)}
# With ten minutes between two saves of a run, one run needs ten rounds to meet each sort of minute.
_ROUNDS = {1: 10, 100: 4, 400: 4}
_PATTERN = (
    '{ ($.kind = "started") || (($.run = "%s") && (($.kind = "started") || ($.kind = "resumed") || ($.kind = "saved")'
    ' || ($.kind = "removed") || ($.kind = "stopping") || ($.kind = "finished") || ($.kind = "failed"))) }'
)


def main(console: Console) -> None:
    figures: list[Figure] = []
    measured: dict[tuple[int, str], tuple[float, float]] = {}
    for count, rounds in _ROUNDS.items():
        for name, age in _AGES.items():
            with doing(console, f"{count} living runs, {name} old"):
                calls, seconds = _rounds(count, age, rounds)
            measured[count, name] = calls, seconds
            figures.append(Figure(f"{count} runs, {name}: FilterLogEvents", calls, "calls a round"))
            figures.append(_time(count, name, seconds))
            old_calls, old_seconds = _before(count, age)
            figures.append(Figure(f"{count} runs, {name}: before, calls", old_calls, "calls a round", remark="counted"))
            figures.append(
                Figure(f"{count} runs, {name}: before, time", old_seconds, "s a round", remark="latencies added up")
            )
        (young_calls, young), (old_calls, old) = (measured[count, name] for name in _AGES)
        for what, ratio in (("calls", old_calls / young_calls), ("time", old / young)):
            figures.append(
                Figure(f"{count} runs: {what}, 30 days / 1 hour", ratio, "times", "at most 1.1", ratio <= 1.1)
            )
    publish(
        console,
        "pump",
        figures,
        {"AWS": "in memory; latencies assumed", "log": "1 line a second, a save in 10 minutes"},
    )


def _time(count: int, name: str, seconds: float) -> Figure:
    fits = seconds < 60
    return Figure(f"{count} runs, {name}: a round", seconds, "s", "under a minute" if count == 400 else "", fits)


def _rounds(count: int, age: timedelta, rounds: int) -> tuple[float, float]:
    """Calls of FilterLogEvents and seconds of one round, each the mean."""
    aws = _living(count, age)
    pump.client, clock.now = aws.client, lambda: aws.now  # type: ignore[assignment,attr-defined]
    _round(aws)
    seconds: list[float] = []
    aws.calls.clear()
    for _ in range(rounds):
        aws.now += timedelta(minutes=1)
        began = time.perf_counter()
        answer = _round(aws)
        seconds.append(time.perf_counter() - began)
        _check(aws, answer)
    assert aws.throttled == 0, "the rate is kept"
    return aws.calls["FilterLogEvents"] / rounds, statistics.mean(seconds)


def _round(aws: Aws) -> dict[str, Any]:
    with redirect_stdout(io.StringIO()):
        answer: dict[str, Any] = pump.handler({}, Context())
    return answer


def _check(aws: Aws, answer: dict[str, Any]) -> None:
    """Each save is known in the round after it was made, and proven in the next."""
    served = {one["run"]: one for one in answer["file_systems"]}
    for run in aws.runs:
        proven = run.steps(run.began_at, aws.now - timedelta(minutes=1))
        last = served[run.run]["last_verified_step"] or 0
        assert last >= (proven[-1] if proven else 0), f"{run.run} is proven to step {last} only"


def _living(count: int, age: timedelta) -> Aws:
    """As a pump that was there all the time has left it."""
    runs = [Run(number, _NOW - age) for number in range(count)]
    aws = Aws(runs, _NOW)
    # Runs that save in the same minute have the same entries.
    alike = [Ledger(run="RUN", entries=_entries(run)) for run in runs[:10]]
    documents = [ledgers.document(ledger) for ledger in alike]
    for run in runs:
        body = documents[run.number % 10].replace(b'"RUN"', f'"{run.run}"'.encode())
        aws.objects[run.prefix.ledger] = body
        read_to = _NOW - timedelta(minutes=1)
        state = pump_state.new(run.run).model_copy(
            update={
                "searched_to": read_to,
                "streams": {run.stream: StreamCursor(node=0, attempt=1, read_to=read_to)},
                "ledger": ledgers.recent(alike[run.number % 10], ()).model_copy(update={"run": run.run}),
                "ledger_etag": etag_of(body),
            }
        )
        aws.objects[run.prefix.pump_state] = state.model_dump_json().encode()
    return aws


def _entries(run: Run) -> list[LedgerEntry]:
    steps = run.steps(run.began_at, _NOW - timedelta(minutes=2))
    return [
        LedgerEntry.model_construct(
            step=step,
            written_at=run.save_at(step),
            asked_at=run.save_at(step),
            exported_at=run.save_at(step),
            verified_at=run.save_at(step) + timedelta(minutes=2),
            proof=Proof.CRC64NVME,
            files=9,
            bytes=1,
            # Of those that the log still says in this round.
            manifest_crc64nvme=checksum(run.manifest(step)) if step > steps[-1] - 4 else "AAAAAAAAAAA=",
        )
        for step in steps
    ]


def _before(count: int, age: timedelta) -> tuple[float, float]:
    """The reading that the pump had: for each run in turn, all that the whole group said since the run began."""
    slept: list[float] = []
    aws = Aws([Run(number, _NOW - age) for number in range(count)], _NOW, sleep=slept.append)
    run = aws.runs[0].run
    since = started_at_of(run) - timedelta(minutes=5)
    pages = aws.get_paginator("filter_log_events").paginate(
        logGroupName=GROUP, startTime=int(since.timestamp() * 1000), filterPattern=_PATTERN % run
    )
    lines = sum(len(page["events"]) for page in pages)
    assert lines > 0, "the run said something"
    return count * aws.calls["FilterLogEvents"], count * sum(slept)


if __name__ == "__main__":
    main(Console(width=130))
