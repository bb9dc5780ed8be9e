from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from belay.goodput.buckets import Bucket
from belay.goodput.spans import Lane

_MOMENT = st.integers(-3, 33)
_BUCKET = st.sampled_from([Bucket.INIT, Bucket.COMPUTE, Bucket.LOST])
_PAINT = st.tuples(st.just("paint"), _MOMENT, _MOMENT, _BUCKET, st.just(frozenset(Bucket)))
_REPAINT = st.tuples(st.just("repaint"), _MOMENT, _MOMENT, _BUCKET, st.frozensets(_BUCKET))


@given(st.lists(st.one_of(_PAINT, _REPAINT), max_size=25))
def test_spans_agree_with_a_list_of_the_bucket_of_each_moment(
    strokes: list[tuple[str, int, int, Bucket, frozenset[Bucket]]],
) -> None:
    line, written = Lane(0, 30), list[Bucket]()
    for how, start, end, bucket, only in strokes:
        if how == "paint":
            line.paint(end, bucket)
            written += [bucket] * (min(end, 30) - len(written))
        else:
            line.repaint(start, end, bucket, only=only)
            for moment in range(max(start, 0), min(end, len(written))):
                if written[moment] in only:
                    written[moment] = bucket

    spans = line.spans()
    assert [span.bucket for span in spans for _ in range(span.start_us, span.end_us)] == written
    assert all(one.bucket is not two.bucket for one, two in pairwise(spans))
