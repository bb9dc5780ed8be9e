"""The page as Debian's Chromium shows it: on a laptop and on a phone, in light and in dark."""

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from belay.goodput.buckets import Bucket
from belay.report import page
from belay.report.record import Record
from tools.docgen.browser import PROGRAM, Browser, Page, chromium
from tools.docgen.sample_reports import runs
from tools.docgen.screenshots import LOOKS

PROBE = Path(__file__).with_name("probe.js").read_text()
CARDS = [
    *("figures", "Where the time went", "Loss", "Training stood still for a save"),
    *("A save was whole and on disk after", "A save was proven in S3 after", "Checkpoints", "Cost"),
    "What would improve it",
]
BROKEN = """
<p class=soft style="width:2000px">wide</p><p style="color:#bbb">pale</p><p style="font-size:9px">tiny</p>
<div class=axis><span>one</span><i></i><span>two</span></div><img src="http://127.0.0.1:1/picture.png">
<script>console.error("so it goes")</script></body>
"""


@pytest.fixture(scope="module")
def records() -> list[Record]:
    return runs()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if PROGRAM is None and os.environ.get("BELAY_BROWSER") != "required":
        pytest.skip("no browser: apt-get install chromium, and the report is looked at too")
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture(scope="module", params=LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def shown(request: pytest.FixtureRequest, browser: Browser, records: list[Record], tmp_path_factory: Any) -> Page:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(page.render(records))
    return browser.open(file, width=request.param[0], scheme=request.param[1])


@pytest.fixture(scope="module")
def seen(shown: Page) -> dict[str, Any]:
    return dict(shown.ask(PROBE))


def test_it_needs_no_network_and_the_browser_has_no_complaint(shown: Page) -> None:
    assert len(shown.requested) == 1 and shown.requested[0].startswith("file:///")
    assert shown.errors == []


def test_nothing_is_wider_than_the_window_or_cut_off(seen: dict[str, Any]) -> None:
    assert (seen["too_wide"], seen["cut_off"], seen["scrolls_sideways"]) == ([], [], False)


def test_every_word_can_be_read(seen: dict[str, Any]) -> None:
    assert (seen["pale"], seen["tiny"], seen["overlapping"]) == ([], [], [])


def test_every_card_is_seen_for_each_run(seen: dict[str, Any], records: list[Record]) -> None:
    assert [cards[1:] for cards in seen["cards"]] == [CARDS] * len(records)
    assert all(cards[0].startswith("Training C") for cards in seen["cards"])
    assert seen["beside"] == ["4 runs", "Where the time went, on one scale", "Losses, over steps"]


def test_the_buckets_that_are_shown_are_the_wall_time(seen: dict[str, Any], records: list[Record]) -> None:
    for shown_rows, record in zip(seen["buckets"], records, strict=True):
        *rows, (name, wall) = shown_rows
        assert [row[0] for row in rows] == [bucket.value for bucket in Bucket] and name == "all together"
        assert sum(Decimal(seconds) for _, seconds in rows) == Decimal(wall) == Decimal(record.timeline.wall_us) / 10**6
    assert len(seen["gaps"]) == len(records) and max(seen["gaps"]) < 0.1


def test_what_is_wrong_with_a_page_is_noticed(browser: Browser, records: list[Record], tmp_path: Path) -> None:
    file = tmp_path / "broken.html"
    file.write_text(page.render(records[:1]).replace("</body>", BROKEN))
    shown = browser.open(file, width=390)
    seen = shown.ask(PROBE)
    assert [one[:20] for one in seen["too_wide"]] == ["p.soft: wide"] and seen["scrolls_sideways"]
    assert ["pale" in one for one in seen["pale"]] == [True] and seen["tiny"] == ["p.: tiny"]
    assert seen["overlapping"] == ["one and two"]
    assert shown.requested[1:] == ["http://127.0.0.1:1/picture.png"]
    assert sorted(shown.errors)[1:] == ["so it goes"]
