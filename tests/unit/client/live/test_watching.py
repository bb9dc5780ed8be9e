"""What histories and descriptions say, read into what was seen."""

import json
from datetime import datetime
from typing import Any

from belay.client.live.seen import FailedCall, Link
from belay.client.live.watching import entered_at, exports_in, failed_calls, file_system_in, run_task_in, see_links
from tests.unit.client.samples import at

IMPORT, EXPORT = "IMPORT_METADATA_FROM_REPOSITORY", "EXPORT_TO_REPOSITORY"


def entered(name: str, seconds: float = 0) -> dict[str, Any]:
    return {"timestamp": at(seconds), "stateEnteredEventDetails": {"name": name}}


def run_task(kind: str, **details: Any) -> dict[str, Any]:
    return {f"task{kind}EventDetails": {"resourceType": "ecs", "resource": "runTask.sync", **details}}


def association(id: str, made: float, lifecycle: str = "CREATING", **more: Any) -> dict[str, Any]:
    return {
        "AssociationId": id,
        "FileSystemPath": f"/{id}",
        "CreationTime": at(made),
        "Lifecycle": lifecycle,
        **more,
    }


def task(kind: str, made: float, lifecycle: str, ended: float | None = None) -> dict[str, Any]:
    end: dict[str, datetime] = {} if ended is None else {"EndTime": at(ended)}
    return {"Type": kind, "CreationTime": at(made), "Lifecycle": lifecycle, **end}


def test_a_failed_call_belongs_to_the_state_that_was_entered_last() -> None:
    events = [
        entered("Export to S3"),
        entered("Delete file system"),
        {"taskFailedEventDetails": {"error": "FSx.BadRequestException"}},
    ]
    assert failed_calls(events) == [FailedCall(state="Delete file system", error="FSx.BadRequestException")]


def test_the_moment_of_a_state_is_that_of_its_first_entry() -> None:
    events = [entered("Delete file system", 5), entered("Delete file system", 9)]
    assert entered_at(events, "Delete file system") == at(5)
    assert entered_at([], "Delete file system") is None


def test_the_file_system_is_the_one_that_the_history_names() -> None:
    output = json.dumps({"FileSystem": {"FileSystemId": "fs-1"}})
    other = {"taskSucceededEventDetails": {"resource": "invoke", "output": "{}"}}
    made = {"taskSucceededEventDetails": {"resource": "createFileSystem", "output": output}}
    assert file_system_in([other, made]) == "fs-1" and file_system_in([other]) is None


def test_a_call_with_a_token_is_known_once_it_was_taken_or_refused() -> None:
    asked = run_task("Scheduled", parameters=json.dumps({"ClientToken": "t"}))
    assert run_task_in([asked]) is None
    taken = run_task_in([asked, run_task("Submitted")])
    assert taken and taken.has_token and taken.error is None
    refused = run_task_in([asked, run_task("SubmitFailed", error="ECS.ClientException", cause="no")])
    assert refused and refused.error == "ECS.ClientException: no"
    bare = run_task_in([run_task("Scheduled", parameters="{}"), run_task("Submitted")])
    assert bare and not bare.has_token


def test_moments_of_a_link_are_those_of_the_first_look_that_showed_them() -> None:
    seen: dict[str, Link] = {}
    see_links(seen, [association("dra-1", 0)], [], at(5))
    see_links(seen, [association("dra-1", 0, "AVAILABLE")], [], at(10))
    both = [association("dra-1", 0, "AVAILABLE"), association("dra-2", 40)]
    see_links(seen, both, [task(IMPORT, 12, "EXECUTING"), task(EXPORT, 13, "EXECUTING")], at(15))
    see_links(seen, both, [task(IMPORT, 12, "SUCCEEDED")], at(20))
    one = seen["dra-1"]
    assert (one.ready_at, one.import_created_at, one.import_listed_at) == (at(10), at(12), at(15))
    assert one.import_ended_at == at(20) and seen["dra-2"].import_listed_at is None


def test_an_import_task_belongs_to_the_newest_link_that_was_there() -> None:
    seen: dict[str, Link] = {}
    links = [association("dra-1", 0, "AVAILABLE"), association("dra-2", 40, "AVAILABLE")]
    see_links(seen, links, [task(IMPORT, 41, "SUCCEEDED"), task(IMPORT, 2, "SUCCEEDED")], at(60))
    assert (seen["dra-1"].import_created_at, seen["dra-2"].import_created_at) == (at(2), at(41))


def test_a_link_that_failed_says_why_and_one_that_was_too_early_has_a_task_older_than_itself() -> None:
    seen: dict[str, Link] = {}
    failure = {"FailureDetails": {"Message": "the bucket"}}
    see_links(seen, [association("dra-1", 9, "FAILED", **failure)], [task(IMPORT, 8, "FAILED")], at(60))
    assert seen["dra-1"].failure == "FAILED: the bucket" and seen["dra-1"].import_created_at == at(8)


def test_exports_count_once_they_have_ended() -> None:
    tasks = [
        task(EXPORT, 1, "SUCCEEDED", 2),
        task(EXPORT, 3, "FAILED", 4),
        task(EXPORT, 5, "EXECUTING"),
        task(IMPORT, 0, "SUCCEEDED", 1),
    ]
    assert [one.succeeded for one in exports_in(tasks)] == [True, False]
