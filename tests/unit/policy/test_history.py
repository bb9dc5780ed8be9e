"""The time line holds each event once, by its time, whichever way it came."""

import json

import pytest
from _belay_hook.lines import EventLines

from belay.contract.events import parse_event
from belay.policy import history

EARLY = '{"at": "2026-11-21T10:00:00.000Z", "kind": "step", "step": 1}'
LATE = '{"at": "2026-11-21T10:00:01.000Z", "kind": "step", "step": 2}'


def lines_of(body: bytes) -> list[str]:
    return body.decode().splitlines()


def test_what_the_log_and_the_mount_both_tell_is_one_event(
    tmp_path_factory: pytest.TempPathFactory, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path_factory.mktemp("mount") / "trainer.jsonl"
    saved = {"step": 5, "path": "run/checkpoints/checkpoint-5", "files": 9, "bytes": 10, "manifest_crc64nvme": "x"}
    events = EventLines(run="run", node=0, attempt=1, job="digits", file=file)
    events.write("saved", **saved, stall_seconds=0.1, durable_seconds=0.2)

    on_mount, in_log = file.read_text().splitlines(), capfd.readouterr().out.splitlines()
    assert on_mount != in_log, "the log's line carries metrics, or this proves nothing"
    for order in ((on_mount, in_log), (in_log, on_mount), (in_log, [])):
        [line] = lines_of(history.merged(*order))
        assert parse_event.validate_json(line).kind == "saved" and "_aws" not in json.loads(line)


def test_events_stand_in_the_order_in_which_they_happened() -> None:
    assert lines_of(history.merged([LATE], [EARLY])) == [EARLY, LATE]


@pytest.mark.parametrize("torn", [EARLY[:30], "", "[1]", "not json", '{"kind": "step"}', '{"at": 5}', "[" * 100_000])
def test_a_line_that_is_no_event_is_left_out(torn: str) -> None:
    assert lines_of(history.merged([EARLY, torn])) == [EARLY]
