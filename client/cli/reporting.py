"""What a run left behind becomes a page."""

import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from botocore.exceptions import ClientError

from client.cli import voice
from client.cli.cloud import Cloud, connect
from client.cli.outcome import Exit, Refused
from client.estimate import phases_of
from client.progress import Look
from client.reading import Run
from contract.certificate import Certificate
from contract.events import AnyEvent
from goodput.measures import goodput_of
from goodput.reading import events_in
from goodput.timeline import timeline_of
from report import page
from report.record import Record
from report.story import Story, told_by


def report(names: list[str], *, out: Path | None, deployment_name: str, as_json: bool) -> Exit:
    cloud = connect(deployment_name)
    with ExitStack() as held:
        records = [_record(cloud, cloud.run(name), held) for name in names]
    if as_json:
        voice.answer([record.document() for record in records])
        return Exit.OK
    file = out or Path(f"belay-{records[0].run}.html")
    file.write_text(page.render(records))
    voice.line(f"Wrote {file}: open it in a browser; it needs no network")
    return Exit.OK


def _record(cloud: Cloud, run: Run, held: ExitStack) -> Record:
    look, plan, certificate = run.look(), run.plan(), run.certificate()
    if plan is None:
        described = run.describe()
        raise Refused(f"run {run.prefix.run} was never accepted: {described.get('cause', described['status'])}")
    told = _events(cloud, run, look, held)
    stories: list[Story] = []

    def events() -> Iterable[AnyEvent]:
        stories.append(Story())
        return told_by(told(), stories[-1])

    end = _end(look, certificate)
    is_over = look.is_over and certificate is not None
    timeline = timeline_of(events, phases_of(look), begin=run.started_at, end=end, is_over=is_over)
    return Record(
        run=run.prefix.run,
        job=run.prefix.job,
        started_at=run.started_at,
        ended_at=end,
        status=look.status,
        certificate=certificate,
        plan=plan,
        ledger=look.ledger,
        timeline=timeline,
        goodput=goodput_of(timeline, plan.rates),
        story=stories[-1],
    )


def _events(cloud: Cloud, run: Run, look: Look, held: ExitStack) -> Callable[[], Iterable[AnyEvent]]:
    """The whole time line in S3, once a teardown has written it there; until then what the log says."""
    # Read as long as the page is made, so it is closed with everything else.
    file = tempfile.TemporaryFile()  # noqa: SIM115
    held.callback(file.close)
    try:
        cloud.clients("s3").download_fileobj(cloud.deployment.bucket, run.prefix.events, file)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("NoSuchKey", "404"):
            raise
        return lambda: look.events

    def again() -> Iterable[AnyEvent]:
        file.seek(0)
        return events_in(file)

    return again


def _end(look: Look, certificate: Certificate | None) -> datetime:
    """With its certificate a run has ended; the first one counts, whatever is certified again later."""
    if certificate is None:
        return datetime.now(UTC)
    return max(certificate.certified_at, *(entered.at for entered in look.entered[-1:]))
