"""Whole runs of the fixture app, without and with faults."""

from __future__ import annotations

import json

import psutil  # type: ignore[import-untyped]
import pytest

from tools.local_cloud.faults import ApiError, ExportFails, KillTraining, NoCapacity

from .conftest import Deployed
from .waiting import eventually


def alive(pid: int) -> bool:
    # A dead process whose parent went first may stay as a zombie until someone reaps it.
    return bool(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)


def test_a_run_succeeds_and_its_checkpoints_are_in_s3_with_their_checksums(deployed: Deployed) -> None:
    end = deployed.end_of(deployed.start("success", steps=2))

    assert end["status"] == "SUCCEEDED"
    output = json.loads(end["output"])
    assert output["training"] == {"outcome": "succeeded", "cause": None}
    assert output["quoted"] == 'it said "no"'
    assert (output["numbers"], output["parts"]) == ([1, 3, 5], [[1, 2], [3]])
    assert "jobs/success/checkpoints/checkpoint-2/model.bin" in deployed.keys("jobs/success/")
    asked = {"Bucket": deployed.outputs["Bucket"], "Key": "jobs/success/checkpoints/checkpoint-2/model.bin"}
    head = deployed.cloud.client("s3").head_object(**asked, ChecksumMode="ENABLED")
    assert head["ChecksumType"] == "FULL_OBJECT"
    assert head["ChecksumCRC64NVME"]
    assert head["Metadata"]["file-permissions"] == "0100644"
    eventually(lambda: deployed.file_system_of("success") is None)


def test_training_has_no_credentials_and_leaves_no_process(deployed: Deployed) -> None:
    execution = deployed.start("alone", steps=1)
    task = eventually(lambda: deployed.task_of("alone"))
    eventually(lambda: deployed.lines_of(task))
    deployed.end_of(execution)

    started = deployed.lines_of(task)[0]
    assert started["credentials"] is False
    assert not alive(started["rank_pid"])


def test_a_non_zero_exit_fails_the_state_with_the_task_as_its_cause(deployed: Deployed) -> None:
    end = deployed.end_of(deployed.start("crash", exit_code=3))

    assert (end["status"], end["error"]) == ("FAILED", "Training.Failed")
    training = json.loads(end["cause"])
    assert training["outcome"] == "States.TaskFailed"
    assert training["cause"]["StopCode"] == "EssentialContainerExited"
    assert training["cause"]["Containers"][0]["ExitCode"] == 3
    assert deployed.keys("jobs/crash/checkpoints/checkpoint-2/")


def test_a_kill_ends_all_processes_of_the_task_and_what_was_written_is_exported(deployed: Deployed) -> None:
    deployed.cloud.inject(KillTraining(at_step=2, where={"belay:job": "killed"}))
    bystander = deployed.start("bystander", steps=3)
    execution = deployed.start("killed", steps=500)
    task = eventually(lambda: deployed.task_of("killed"))
    end = deployed.end_of(execution)

    assert json.loads(end["cause"])["cause"]["Containers"][0]["ExitCode"] == 137
    assert not alive(deployed.lines_of(task)[0]["rank_pid"])
    assert deployed.keys("jobs/killed/checkpoints/checkpoint-2/")
    assert not deployed.keys("jobs/killed/checkpoints/checkpoint-400/")
    assert deployed.end_of(bystander)["status"] == "SUCCEEDED"


def test_a_training_that_takes_too_long_is_stopped(deployed: Deployed) -> None:
    execution = deployed.start("slow", steps=10_000, limit=2)
    task = eventually(lambda: deployed.task_of("slow"))
    end = deployed.end_of(execution)

    assert json.loads(end["cause"])["outcome"] == "States.Timeout"
    eventually(lambda: "stopping" in [line["kind"] for line in deployed.lines_of(task)])


def test_stopping_an_execution_stops_its_task_and_triggers_a_rule(deployed: Deployed) -> None:
    execution = deployed.start("stopped", steps=10_000)
    task = eventually(lambda: deployed.task_of("stopped"))
    eventually(lambda: deployed.lines_of(task))
    deployed.cloud.client("stepfunctions").stop_execution(executionArn=execution, error="Me", cause="enough")

    end = deployed.end_of(execution)
    assert (end["status"], end["error"], end["cause"]) == ("ABORTED", "Me", "enough")
    stopped = eventually(lambda: (t := deployed.task_of("stopped")) and t["lastStatus"] == "STOPPED" and t)
    assert stopped["stopCode"] == "UserInitiated"
    assert stopped["containers"][0]["exitCode"] == 143
    assert [line["kind"] for line in deployed.lines_of(task)][-1] == "stopping"
    history = deployed.cloud.client("stepfunctions").get_execution_history(executionArn=execution, reverseOrder=True)
    assert history["events"][0]["type"] == "ExecutionAborted"
    received = eventually(lambda: event_about(deployed, execution))
    assert received["status"] == "ABORTED"
    assert received["stopped_at"] == int(end["stopDate"].timestamp() * 1000)


def event_about(deployed: Deployed, execution: str) -> dict[str, object] | None:
    """The input that the rule's transformer made for the machine that it starts."""
    states = deployed.cloud.client("stepfunctions")
    for one in states.list_executions(stateMachineArn=deployed.outputs["Echo"])["executions"]:
        received = json.loads(states.describe_execution(executionArn=one["executionArn"])["input"])
        if received["execution_arn"] == execution:
            return dict(received)
    return None


def test_without_capacity_the_task_stays_provisioning(deployed: Deployed) -> None:
    deployed.cloud.inject(NoCapacity(where={"belay:job": "hungry"}))
    execution = deployed.start("hungry", limit=2)
    task = eventually(lambda: deployed.task_of("hungry"))
    end = deployed.end_of(execution)

    assert task["lastStatus"] == "PROVISIONING"
    stopped = eventually(lambda: (t := deployed.task_of("hungry")) and t["lastStatus"] == "STOPPED" and t)
    assert "exitCode" not in stopped["containers"][0]
    # Nothing was ever written, so the path of the export is not there, which fails the whole task.
    assert end["error"] == "ExportFailed"
    tasks = deployed.cloud.client("fsx").describe_data_repository_tasks()["DataRepositoryTasks"]
    assert "run/checkpoints is not valid" in json.dumps([task.get("FailureDetails") for task in tasks])


def test_an_export_that_fails_keeps_the_file_system(deployed: Deployed) -> None:
    deployed.cloud.inject(ExportFails(how="failed", where={"belay:job": "kept"}))
    end = deployed.end_of(deployed.start("kept"))

    assert end["error"] == "ExportFailed"
    kept = deployed.file_system_of("kept")
    assert kept is not None
    assert kept["Lifecycle"] == "AVAILABLE"


def test_a_skipping_export_says_that_it_succeeded(deployed: Deployed) -> None:
    deployed.cloud.inject(ExportFails(how="skipped", where={"belay:job": "skipped"}))
    end = deployed.end_of(deployed.start("skipped", steps=1))

    assert end["status"] == "SUCCEEDED"
    assert "jobs/skipped/checkpoints/checkpoint-1/manifest.json" in deployed.keys("jobs/skipped/")
    assert "jobs/skipped/checkpoints/checkpoint-1/model.bin" not in deployed.keys("jobs/skipped/")


def test_a_throttled_call_fails_with_the_name_that_step_functions_gives_it(deployed: Deployed) -> None:
    deployed.cloud.inject(ApiError(service="fsx", action="CreateFileSystem", times=1))
    end = deployed.end_of(deployed.start("throttled"))

    assert end["error"] == "FSx.FSxException"
    assert "Rate exceeded" in end["cause"]


@pytest.mark.parametrize("fault", [None, "busy"])
def test_an_export_waits_for_the_one_before(deployed: Deployed, fault: str | None) -> None:
    job = f"twice-{fault}"
    if fault:
        busy = ApiError(service="fsx", action="CreateDataRepositoryTask", error="DataRepositoryTaskExecuting", times=2)
        deployed.cloud.inject(busy)
    assert deployed.end_of(deployed.start(job))["status"] == "SUCCEEDED"
