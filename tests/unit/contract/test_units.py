import pytest
from hypothesis import given
from hypothesis import strategies as st

from belay.contract.units import duration_of, mib_of, seconds_of, size_of


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("30m", 1800), ("1h30m", 5400), ("2d", 172800), ("1d1h1m1s", 90061), ("90m", 5400), ("0s", 0)],
)
def test_a_duration_reads_as_people_write_it(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(("text", "mib"), [("512MiB", 512), ("16GiB", 16384), ("2TiB", 2097152), ("0MiB", 0)])
def test_a_size_reads_as_people_write_it(text: str, mib: int) -> None:
    assert mib_of(text) == mib


@pytest.mark.parametrize("text", ["", "5", "h", "1.5h", "-1h", "1h ", " 1h", "1H", "1h\n", "1h30", "\u0661h", 5, None])
def test_what_is_no_duration_is_refused_with_how_to_write_one(text: object) -> None:
    with pytest.raises(ValueError, match="write it like '90s', '30m', '1h30m' or '2d'"):
        seconds_of(text)


@pytest.mark.parametrize("text", ["", "5", "GiB", "1.5GiB", "-1GiB", "1GB", "1gib", "1GiB\n", "1 GiB", 5, None])
def test_what_is_no_size_is_refused_with_how_to_write_one(text: object) -> None:
    with pytest.raises(ValueError, match="write it like '512MiB', '1200GiB' or '2TiB'"):
        mib_of(text)


@given(st.integers(min_value=0, max_value=10**9))
def test_a_duration_comes_back_as_it_was_written(seconds: int) -> None:
    assert seconds_of(duration_of(seconds)) == seconds


@given(st.integers(min_value=1, max_value=10**9 - 1))
def test_a_size_comes_back_as_it_was_written(mib: int) -> None:
    assert mib_of(size_of(mib)) == mib
