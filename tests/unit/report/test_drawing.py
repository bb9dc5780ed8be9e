import re
from datetime import timedelta
from itertools import pairwise

import pytest
from pytest import approx

from belay.goodput.buckets import Bucket
from belay.goodput.spans import Span
from belay.report.drawing import bars, strip
from belay.report.formatting import clock, length, percent
from belay.report.scales import round_numbers, step_axis, time_axis
from tools.docgen.sample_runs import START


def rectangles(svg: str) -> list[tuple[float, float, str]]:
    found = re.findall(r'class="b-([a-z-]+)" x="([\d.]+)" width="([\d.]+)"', svg)
    return [(float(x), float(width), name) for name, x, width in found]


def test_a_strip_of_more_spans_than_a_screen_has_columns_has_no_gap_and_keeps_what_lasts() -> None:
    one = [Span(n * 10, n * 10 + 9, Bucket.COMPUTE) for n in range(20_000)]
    two = [Span(n * 10 + 9, n * 10 + 10, Bucket.SAVE) for n in range(20_000)]
    outage = [Span(200_000, 220_000, Bucket.RECOVERY)]
    drawn = rectangles(strip(sorted([*one, *two]) + outage))

    assert [name for _, _, name in drawn] == ["compute", "recovery"]
    assert drawn[0][0] == 0 and sum(drawn[-1][:2]) == approx(1000, abs=1)
    assert all(left[0] + left[1] == approx(right[0], abs=0.01) for left, right in pairwise(drawn))


def test_a_short_span_is_still_seen() -> None:
    spans = [Span(0, 10**9, Bucket.COMPUTE), Span(10**9, 10**9 + 1, Bucket.LOST)]
    assert rectangles(strip(spans))[-1][1] >= 0.5


def test_every_value_is_in_one_bar() -> None:
    titles = re.findall(r"<title>(\d+) between", bars([0.0, 0.5, 0.5, 1.0, 3.0]))
    assert sum(int(count) for count in titles) == 5


def test_lengths_read_as_people_say_them() -> None:
    texts = [length(seconds) for seconds in (0.0034, 0.5, 12.34, 90, 120, 7320, 7200)]
    assert texts == ["3.4 ms", "500 ms", "12.3 s", "1 min 30 s", "2 min", "2 h 2 min", "2 h"]
    assert clock(START, START + timedelta(seconds=3723)) == "1:02:03" and clock(START, None) == ""
    assert [percent(share) for share in (None, 0.0, 0.0001, 0.5)] == ["unknown", "0.0%", "< 0.1%", "50.0%"]


@pytest.mark.parametrize("wall_seconds", [0.4, 7, 61, 3600, 10_000, 10**5, 10**7])
def test_a_time_axis_has_some_round_lengths_whatever_the_run_lasted(wall_seconds: float) -> None:
    places = [float(place) for place in re.findall(r"left:([\d.]+)%", time_axis(wall_seconds))]
    assert len(places) <= 8 and all(0 < place <= 97 for place in places)
    assert wall_seconds < 2 or len(places) >= 2


def test_levels_are_round_and_cover_what_is_shown() -> None:
    assert round_numbers(0.21, 2.7, 7) == approx([0.5, 1.0, 1.5, 2.0, 2.5])
    assert round_numbers(-0.02, 0.02, 4) == approx([-0.02, -0.01, 0, 0.01, 0.02])
    assert "<span class=first>10</span>" in step_axis(10, 2400) and ">2,400<" in step_axis(10, 2400)
