"""Told to stop, training saves; unless somebody wants it ended at once, and has tagged its task so."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from training.ending import wanted_at_once

from contract.events import Failed
from contract.stop_reasons import END_NOW_TAG

from .conftest import Scratch


@contextmanager
def agent(says: str | None = None) -> Iterator[tuple[dict[str, str], dict[str, str]]]:
    """The agent of an instance: where a task finds it, and the task's tags, which may change."""
    tags = {"Name": "digits"}

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/v4/me/taskWithTags" else 404)
            self.end_headers()
            self.wfile.write((json.dumps({"TaskTags": tags}) if says is None else says).encode())

        def log_message(self, *_: object) -> None:
            """Not of interest."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"ECS_CONTAINER_METADATA_URI_V4": f"http://127.0.0.1:{server.server_port}/v4/me"}, tags
        server.shutdown()


def test_who_does_not_want_to_wait_for_the_save_is_heard_while_it_is_being_waited_for(scratch: Scratch) -> None:
    (scratch.data / "deaf.sh").write_text(
        "trap '' TERM\ntouch run/staging/deaf\nfor second in $(seq 300); do sleep 1; done\n"
    )
    scratch.plan({"command": ["bash", "data/deaf.sh"]})
    with agent() as (address, tags):
        task = scratch.start(BELAY_STOP_SECONDS="100", **address)
        task.until("mounted")
        while not (scratch.files / "run" / "staging" / "deaf").exists():
            assert task.process.poll() is None
            time.sleep(0.05)
        task.stop()
        task.until("stopping")
        time.sleep(0.5)
        assert task.process.poll() is None, "nobody asked for that"
        tags[END_NOW_TAG] = "a person"
        assert task.wait() == 137
    last = task.events[-1]
    assert isinstance(last, Failed) and "at once, as somebody asked" in last.reason


def test_the_tag_is_what_says_it() -> None:
    with agent() as (address, tags):
        assert not wanted_at_once(address)
        tags[END_NOW_TAG] = ""
        assert wanted_at_once(address)


@pytest.mark.parametrize("says", ["", "[]", '{"TaskTags": null}', '{"Errors": [{"ErrorMessage": "AccessDenied"}]}'])
def test_an_agent_that_cannot_say_does_not_cost_a_save(says: str) -> None:
    with agent(says) as (address, _):
        assert not wanted_at_once(address)


def test_neither_does_one_that_is_not_there() -> None:
    with agent() as (address, tags):
        tags[END_NOW_TAG] = ""
    assert not wanted_at_once(address)
    assert not wanted_at_once({})
