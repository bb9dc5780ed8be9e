"""The page says what the numbers say, needs nothing from anywhere, and cannot be broken by what a run calls itself."""

import json
import re
from dataclasses import replace
from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest

from belay.cli.output import print_json
from belay.contract.certificate import Certificate, EndedBy, FileSystemEnd, TrainingEnd, WorkLost
from belay.contract.ledger import Ledger, LedgerEntry, Proof
from belay.contract.prices import Rates
from belay.contract.verdict import Durability, Training, Verdict
from belay.goodput.buckets import Bucket
from belay.goodput.measures import goodput_of
from belay.goodput.timeline import timeline_of
from belay.report import page
from belay.report.record import Record
from belay.report.story import Story, collect
from tools.docgen.sample_runs import (
    BEFORE,
    RUN,
    START,
    at,
    failed,
    finished,
    flow,
    resumed,
    saved,
    started,
    steps,
    verified,
)

VOID = {"meta", "line", "rect", "br", "polyline"}


def record(*, reason: str = "exit code 1", count: int = 100) -> Record:
    events: list[Any] = [
        *(started(100), *steps(1, 50, begin=110), saved(40, 150, stall=0.004, durable=0.5), verified(40, 155)),
        *(failed(162), started(200, attempt=2), resumed(40, 205, attempt=2)),
        *(*steps(41, count, begin=210, attempt=2), saved(count, 170 + count, attempt=2)),
        finished(count, 170 + count, attempt=2),
    ]
    stories: list[Story] = []

    def again() -> Any:
        stories.append(Story())
        return collect(iter(sorted(events, key=lambda one: one.at)), stories[-1])

    end = at(300 + count)
    timeline = timeline_of(again, flow(*BEFORE, ("Teardown", 171 + count)), begin=START, end=end, is_over=True)
    entry = LedgerEntry(step=40, written_at=at(150), verified_at=at(155), proof=Proof.CRC64NVME, files=9, bytes=10**9)
    verdict = Verdict(
        training=Training.CRASHED,
        durability=Durability.VERIFIED,
        reason=reason,
        last_verified_step=40,
        where="s3://bucket/jobs/digits/",
    )
    return Record(
        run=RUN,
        job="digits",
        started_at=START,
        ended_at=end,
        status="SUCCEEDED",
        certificate=Certificate(
            run=RUN,
            job="digits",
            execution_arn="arn",
            started_at=START,
            certified_at=end,
            verdict=verdict,
            sentence=verdict.sentence,
            ended=TrainingEnd(by=EndedBy.TRAINING, last_heard_at=None, attempts=2),
            lost=WorkLost(steps=10, minutes=0.2, usd=0.01),
            checkpoints=[],
            file_system=FileSystemEnd(id="fs-1", fate="deleted"),
        ),
        plan=None,
        ledger=Ledger(run=RUN, entries=[entry]),
        timeline=timeline,
        goodput=goodput_of(timeline, Rates(instance_usd_per_hour=4.0, file_system_usd_per_hour=0.2)),
        story=stories[-1],
    )


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag


def test_it_fetches_nothing_and_runs_nothing() -> None:
    html = page.render([record()])
    tags = _Tags()
    tags.feed(html)
    assert not tags.open
    assert not tags.seen & {"script", "link", "img", "iframe"}
    assert not re.search(r"https?://|url\(|@import|\bsrc=", html)


def test_what_a_job_says_of_itself_stays_text() -> None:
    html = page.render([record(reason="<script>alert(1)</script> & more")])
    assert "<script>" not in html and "&lt;script&gt;" in html


def test_what_was_lost_and_what_became_of_the_file_system_stands_with_the_verdict() -> None:
    html = page.render([record()])
    assert "<dt>work lost</dt><dd>10 steps, 0.2 minutes, 0.01 USD</dd>" in html and "fs-1 deleted" in html


def test_the_table_is_the_wall_time() -> None:
    of_it = record().document()
    assert sum(of_it["seconds"].values()) == pytest.approx(of_it["wall_seconds"], abs=1e-6)
    assert of_it["seconds"][Bucket.LOST.value] > 0 and of_it["attempts"][1]["resumed_from"] == 40


def test_several_runs_are_put_side_by_side() -> None:
    assert "2 runs" in page.render([record(), record()])
    assert "2 runs" not in page.render([record()])


def test_a_long_run_makes_a_page_of_the_same_size() -> None:
    short, long = len(page.render([record(count=2000)])), len(page.render([record(count=20_000)]))
    assert long < 2 * short


def test_a_run_that_goes_on_has_a_page_without_what_is_not_known_yet() -> None:
    fresh = replace(record(), certificate=None, ledger=None, story=Story(), status="RUNNING")
    for html in (page.render([fresh]), page.render([fresh, record()])):
        assert "RUNNING" in html and "Its certificate is not there yet." in html
    assert "<h2>Loss" not in page.render([fresh]) and "<h2>Checkpoints" not in page.render([fresh])


@pytest.mark.parametrize("losses", [[float("nan")] * 3, [1.0, float("inf"), 2.0], [3e30, 1.0, 2.0], [0.5, 0.5, 0.5]])
def test_any_losses_make_a_page(losses: list[float]) -> None:
    events: list[Any] = [
        event.model_copy(update={"loss": loss}) for event, loss in zip(steps(1, 3, begin=0), losses, strict=True)
    ]
    story = Story()
    assert len(list(collect(events, story))) == 3 and story.last_step == 3
    html = page.render([replace(record(), story=story), record()])
    assert not re.search(r"\b(nan|inf)\b", html)


def test_as_json_it_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([record().document()])
    [document] = json.loads(capsys.readouterr().out)
    assert document["started_at"] == "2026-11-21T02:44:55.000Z"
    assert timedelta(seconds=document["wall_seconds"]) == timedelta(seconds=400)
    assert document["advice"][0].startswith("Save more often")
