from typing import Any

import pytest
from pydantic import ValidationError

from belay.contract.errors import FileSystemGone
from lambdas.training import mark
from tools.proofs.fakes.world import FILE_SYSTEM, World


def _tags(world: World) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in world.fsx.file_systems[FILE_SYSTEM]["Tags"]}


def test_before_training_a_file_system_is_marked_as_in_use_and_stays_the_runs(world: World) -> None:
    world.scratch(state="empty")
    before = _tags(world)
    assert world.ask(mark, {"file_system_id": FILE_SYSTEM, "state": "in-use"}) == {}
    assert _tags(world) == before | {"belay:state": "in-use"}


def test_a_kept_file_system_says_why_and_since_when_in_what_a_tag_can_hold(world: World) -> None:
    world.scratch()
    world.ask(mark, {"file_system_id": FILE_SYSTEM, "state": "kept", "why": "S3 <said>: {no}\n" + "x" * 500})
    tags = _tags(world)
    assert tags["belay:state"] == "kept"
    assert tags["belay:kept-why"].startswith("S3 said : no ")
    assert len(tags["belay:kept-why"]) == 256
    assert tags["belay:kept-since"] == "2026-11-21T03:44:55+00:00"


def test_a_file_system_that_went_away_meanwhile_is_not_called_kept(world: World) -> None:
    with pytest.raises(FileSystemGone, match=FILE_SYSTEM):
        world.ask(mark, {"file_system_id": FILE_SYSTEM, "state": "kept", "why": "no export"})


def test_what_is_kept_again_is_kept_since_the_first_time_and_says_its_price(world: World) -> None:
    world.scratch()
    first = "2026-11-20T10:00:00+00:00"
    question = {"file_system_id": FILE_SYSTEM, "state": "kept", "why": "x", "since": first, "usd_a_day": 5.5233}
    world.ask(mark, question)
    tags = _tags(world)
    assert (tags["belay:kept-since"], tags["belay:kept-usd-a-day"]) == (first, "5.52")


@pytest.mark.parametrize("event", [{"state": "gone"}, {"state": "empty-ish"}, {}])
def test_no_other_word_becomes_a_mark(world: World, event: dict[str, Any]) -> None:
    world.scratch()
    with pytest.raises(ValidationError):
        world.ask(mark, event | {"file_system_id": FILE_SYSTEM})
