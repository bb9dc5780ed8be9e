import re
from itertools import pairwise

from pytest import approx

from goodput.buckets import Bucket
from goodput.spans import Span
from report.drawing import bars, length, strip


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
    told = [length(seconds) for seconds in (0.0034, 0.5, 12.34, 90, 120, 7320, 7200)]
    assert told == ["3.4 ms", "500 ms", "12.3 s", "1 min 30 s", "2 min", "2 h 2 min", "2 h"]
