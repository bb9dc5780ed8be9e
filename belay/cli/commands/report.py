"""Write the page about one run or several."""

import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import ClientError

from belay.cli import output
from belay.cli.connection import Cloud, connect
from belay.cli.outcome import Exit, Refused
from belay.client.estimate import phases_of
from belay.client.progress import Snapshot
from belay.client.reading import Run
from belay.contract.certificate import Certificate
from belay.contract.events import AnyEvent
from belay.goodput.measures import goodput_of
from belay.goodput.reading import events_in
from belay.goodput.timeline import timeline_of
from belay.report import page
from belay.report.record import Record
from belay.report.story import Story, collect


def report(names: list[str], *, out: Path | None, deployment_name: str, as_json: bool) -> Exit:
    cloud = connect(deployment_name)
    with ExitStack() as held:
        records = [_record(cloud, cloud.run(name), held) for name in names]
    if as_json:
        output.print_json([record.document() for record in records])
        return Exit.OK
    file = out or Path(f"belay-{records[0].run}.html")
    file.write_text(page.render(records))
    output.line(f"Wrote {file}: open it in a browser; it needs no network")
    return Exit.OK


def _record(cloud: Cloud, run: Run, held: ExitStack) -> Record:
    snapshot, plan, certificate = run.snapshot(), run.plan(), run.certificate()
    if plan is None:
        described = run.describe()
        raise Refused(f"run {run.prefix.run} was never accepted: {described.get('cause', described['status'])}")
    read_events = _events(cloud, run, snapshot, held)
    stories: list[Story] = []

    def events() -> Iterable[AnyEvent]:
        stories.append(Story())
        return collect(read_events(), stories[-1])

    end = _end(snapshot, certificate)
    is_over = snapshot.is_over and certificate is not None
    timeline = timeline_of(events, phases_of(snapshot), begin=run.started_at, end=end, is_over=is_over)
    return Record(
        run=run.prefix.run,
        job=run.prefix.job,
        started_at=run.started_at,
        ended_at=end,
        status=snapshot.status,
        certificate=certificate,
        plan=plan,
        ledger=snapshot.ledger,
        timeline=timeline,
        goodput=goodput_of(timeline, plan.rates),
        story=stories[-1],
    )


def _events(cloud: Cloud, run: Run, snapshot: Snapshot, held: ExitStack) -> Callable[[], Iterable[AnyEvent]]:
    """The whole time line in S3, once a teardown has written it there; until then what the log says."""
    # Read as long as the page is made, so it is closed with everything else.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    held.callback(file.close)
    try:
        cloud.clients("s3").download_fileobj(cloud.deployment.bucket, run.prefix.events, file)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("NoSuchKey", "404"):
            raise
        return lambda: snapshot.events

    def again() -> Iterable[AnyEvent]:
        file.seek(0)
        return events_in(file)

    return again


def _end(snapshot: Snapshot, certificate: Certificate | None) -> datetime:
    """With its certificate a run has ended; the first one counts, whatever is certified again later."""
    if certificate is None:
        return datetime.now(UTC)
    return max(certificate.certified_at, *(entered.at for entered in snapshot.entered[-1:]))
