from datetime import UTC, datetime, timedelta

import pytest

from belay.contract import tags
from belay.contract.kept import Kept, kept, longest_first, since

SINCE = datetime(2026, 11, 21, tzinfo=UTC)


def words(state: str = "kept", **more: str) -> dict[str, str]:
    return {tags.STATE: state, tags.JOB: "digits", tags.RUN: "r"} | more


def test_the_tags_say_why_since_when_and_what_a_day_costs() -> None:
    told = {tags.KEPT_WHY: "Verify: not in S3", tags.KEPT_SINCE: SINCE.isoformat(), tags.KEPT_USD_A_DAY: "5.52"}
    assert kept("fs-1", words(**told)) == Kept("fs-1", "digits", "r", "Verify: not in S3", SINCE, 5.52)
    assert kept("fs-1", words()) == Kept("fs-1", "digits", "r", "not on record", None, None)
    assert kept("fs-1", words("in-use", **told)) is None


@pytest.mark.parametrize("text", ["", "yesterday", "2026-11-21T00:00:00"])
def test_a_tag_that_is_no_moment_is_none(text: str) -> None:
    assert since({tags.KEPT_SINCE: text}) is None


def test_the_longest_kept_comes_first_and_what_nobody_dated_last() -> None:
    moments = {"fs-new": SINCE + timedelta(hours=1), "fs-odd": None, "fs-old": SINCE, "fs-even": None}
    found = [Kept(id, "digits", "r", "why", moment, None) for id, moment in moments.items()]
    assert [one.file_system_id for one in longest_first(found)] == ["fs-old", "fs-new", "fs-even", "fs-odd"]
