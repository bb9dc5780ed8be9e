from datetime import UTC, datetime, timedelta

import pytest

from belay.contract import tags
from belay.contract.messages.probes import Phase
from belay.policy import retrying
from belay.policy.file_system import FileSystem
from belay.policy.phases import Reading

SINCE = datetime(2026, 11, 21, tzinfo=UTC)
PAUSE = timedelta(minutes=30)


def file_system(state: str = "kept", since: str = "2026-11-21T00:00:00+00:00") -> FileSystem:
    words = {tags.STATE: state, tags.KEPT_SINCE: since}
    return FileSystem("fs-1", "arn", words, Reading(Phase.READY, ""), SINCE, None, None)


@pytest.mark.parametrize(
    ("hours", "tries"),
    [(0, 0), (0.49, 0), (0.5, 1), (1.49, 1), (1.5, 2), (3.5, 3), (31.5, 6), (63.4, 6), (63.5, 7), (95.5, 8)],
)
def test_each_pause_is_twice_the_one_before_up_to_a_limit(hours: float, tries: int) -> None:
    name = retrying.attempt(file_system(), PAUSE, SINCE + timedelta(hours=hours))
    assert name == (f"kept-{tries}" if tries else None)


def test_a_date_that_cannot_be_read_is_as_if_it_was_kept_since_it_was_created() -> None:
    assert retrying.attempt(file_system(since="yesterday"), PAUSE, SINCE + timedelta(hours=2)) == "kept-2"


def test_what_is_not_kept_is_tried_once_in_each_pause() -> None:
    names = [retrying.attempt(file_system("in-use"), PAUSE, SINCE + timedelta(minutes=m)) for m in (0, 29, 30, 59, 60)]
    assert names[0] == names[1] != names[2] == names[3] != names[4]
