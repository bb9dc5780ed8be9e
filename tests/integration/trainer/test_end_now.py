"""Asked to stop, training saves; unless a person wants it ended now, and has tagged its task so."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from belay.contract.events import Failed
from belay.contract.stop_reasons import END_NOW_TAG
from containers.trainer.supervision.end_now import end_now_asked

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
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {"ECS_CONTAINER_METADATA_URI_V4": f"http://127.0.0.1:{server.server_port}/v4/me"}, tags
        server.shutdown()


def test_a_person_may_end_training_now_while_its_last_save_is_waited_for(scratch: Scratch) -> None:
    (scratch.data / "ignores-sigterm.sh").write_text(
        "trap '' TERM\ntouch run/staging/ignores-sigterm\nfor second in $(seq 300); do sleep 1; done\n"
    )
    scratch.plan({"command": ["bash", "data/ignores-sigterm.sh"]})
    with agent() as (address, tags):
        task = scratch.start(BELAY_STOP_SECONDS="100", **address)
        task.until("mounted")
        while not (scratch.files / "run" / "staging" / "ignores-sigterm").exists():
            assert task.process.poll() is None
            time.sleep(0.05)
        task.stop()
        task.until("stopping")
        time.sleep(0.5)
        assert task.process.poll() is None, "no one has asked for that yet"
        tags[END_NOW_TAG] = "a person"
        assert task.wait() == 137
    last = task.events[-1]
    assert isinstance(last, Failed) and "at once, as a person asked" in last.reason


def test_the_tag_on_the_task_asks_for_it() -> None:
    with agent() as (address, tags):
        assert not end_now_asked(address)
        tags[END_NOW_TAG] = ""
        assert end_now_asked(address)


@pytest.mark.parametrize("says", ["", "[]", '{"TaskTags": null}', '{"Errors": [{"ErrorMessage": "AccessDenied"}]}'])
def test_an_agent_that_cannot_say_does_not_cost_a_save(says: str) -> None:
    with agent(says) as (address, _):
        assert not end_now_asked(address)


def test_neither_does_one_that_is_not_there() -> None:
    with agent() as (address, tags):
        tags[END_NOW_TAG] = ""
    assert not end_now_asked(address)
    assert not end_now_asked({})
