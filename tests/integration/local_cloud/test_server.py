"""The server by itself: its command line, its address, and what any client sees of its services."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.error
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tools.local_cloud.cloud import CloudFailed, LocalCloud
from tools.local_cloud.faults import NoCapacity
from tools.repository import REPOSITORY

from .conftest import Deployed
from .waiting import eventually


def test_help_helps() -> None:
    words = [sys.executable, "-m", "tools.local_cloud", "up", "--help"]
    said = subprocess.run(words, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert "--time-scale" in said
    assert "--state" in said


def test_the_ready_line_says_what_to_export(cloud: LocalCloud) -> None:
    said = cloud.log.read_text()
    assert f"export AWS_ENDPOINT_URL={cloud.settings.endpoint}" in said
    assert "export AWS_ACCESS_KEY_ID=test" in said


def test_nobody_else_on_the_network_can_reach_it(cloud: LocalCloud) -> None:
    with socket.socket(socket.AF_INET) as probe:
        # 127.0.0.2 is this machine too, but not the address that was bound.
        assert probe.connect_ex(("127.0.0.2", cloud.settings.port)) != 0


def test_a_taken_port_is_reported_at_once(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        with pytest.raises(CloudFailed, match="is in use"):
            LocalCloud(state_dir=tmp_path, port=other.getsockname()[1]).start()


def test_a_fault_that_does_not_exist_is_refused(cloud: LocalCloud) -> None:
    with pytest.raises(urllib.error.HTTPError) as raised:
        cloud._ask("POST", "/_belay/faults", {"kind": "Earthquake"})
    assert raised.value.code == 400


def test_faults_can_be_seen_and_cleared(cloud: LocalCloud) -> None:
    cloud.inject(NoCapacity(where={"belay:job": "nobody"}))
    assert cloud._ask("GET", "/_belay/faults") == [NoCapacity(where={"belay:job": "nobody"}).to_json()]
    cloud.clear_faults()
    assert cloud._ask("GET", "/_belay/faults") == []


def test_the_aws_command_line_talks_to_it(deployed: Deployed) -> None:
    words = ["aws", "fsx", "describe-data-repository-tasks", "--output", "json"]
    done = subprocess.run(words, env=deployed.cloud.environment(), capture_output=True, text=True, check=True)
    assert "DataRepositoryTasks" in json.loads(done.stdout)


def test_s3_keeps_a_checksum_of_every_upload(cloud: LocalCloud) -> None:
    s3 = cloud.client("s3")
    s3.create_bucket(Bucket="checksums")
    # The well-known check value of CRC-64/NVME, in base64 as S3 gives it.
    s3.put_object(Bucket="checksums", Key="k", Body=b"123456789", ChecksumAlgorithm="CRC64NVME")
    head = s3.head_object(Bucket="checksums", Key="k", ChecksumMode="ENABLED")
    assert (head["ChecksumCRC64NVME"], head["ChecksumType"]) == ("rosUhgp5mIg=", "FULL_OBJECT")
    assert "ChecksumCRC64NVME" not in s3.head_object(Bucket="checksums", Key="k")


def test_an_object_that_came_in_parts_has_the_checksum_of_the_whole(cloud: LocalCloud) -> None:
    s3, where = cloud.client("s3"), {"Bucket": "parts", "Key": "k"}
    s3.create_bucket(Bucket="parts")
    upload = s3.create_multipart_upload(**where, ChecksumAlgorithm="CRC64NVME")["UploadId"]
    parts = []
    for number, body in enumerate((b"1234" * 2_000_000, b"56789"), start=1):
        made = s3.upload_part(**where, UploadId=upload, PartNumber=number, Body=body, ChecksumAlgorithm="CRC64NVME")
        parts.append({"PartNumber": number, "ETag": made["ETag"]})
    s3.complete_multipart_upload(**where, UploadId=upload, MultipartUpload={"Parts": parts})
    s3.put_object(Bucket="parts", Key="whole", Body=b"1234" * 2_000_000 + b"56789", ChecksumAlgorithm="CRC64NVME")

    head = s3.head_object(**where, ChecksumMode="ENABLED")
    whole = s3.head_object(Bucket="parts", Key="whole", ChecksumMode="ENABLED")
    assert (head["ChecksumCRC64NVME"], head["ChecksumType"]) == (whole["ChecksumCRC64NVME"], "FULL_OBJECT")


def test_a_conditional_write_that_another_has_overtaken_is_refused(deployed: Deployed) -> None:
    s3, where = deployed.cloud.client("s3"), {"Bucket": deployed.outputs["Bucket"], "Key": "conditional"}
    first = s3.put_object(**where, Body=b"1", IfNoneMatch="*")["ETag"]
    s3.put_object(**where, Body=b"2", IfMatch=first)
    for condition in ({"IfNoneMatch": "*"}, {"IfMatch": first}):
        with pytest.raises(ClientError) as refused:
            s3.put_object(**where, Body=b"3", **condition)
        assert refused.value.response["Error"]["Code"] == "PreconditionFailed"
    assert s3.get_object(**where)["Body"].read() == b"2"


def test_an_api_that_is_not_built_is_named(cloud: LocalCloud) -> None:
    with pytest.raises(ClientError, match=r"fsx:DescribeBackups is not built into the local cloud") as raised:
        cloud.client("fsx").describe_backups()
    assert raised.value.response["Error"]["Code"] == "NotImplemented"


def test_a_plain_ec2_launch_finds_no_instance(deployed: Deployed) -> None:
    asked = {"cluster": deployed.outputs["Cluster"], "taskDefinition": deployed.outputs["TaskDefinition"]}
    with pytest.raises(ClientError, match="No Container Instances were found in your cluster"):
        deployed.cloud.client("ecs").run_task(**asked, launchType="EC2")


def test_an_override_for_a_container_that_is_not_there_is_refused(deployed: Deployed) -> None:
    asked = {"cluster": deployed.outputs["Cluster"], "taskDefinition": deployed.outputs["TaskDefinition"]}
    strategy = [{"capacityProvider": deployed.outputs["Provider"]}]
    overrides = {"containerOverrides": [{"name": "nobody"}]}
    with pytest.raises(ClientError, match="Override for container named nobody"):
        deployed.cloud.client("ecs").run_task(**asked, capacityProviderStrategy=strategy, overrides=overrides)


def test_log_events_are_found_by_prefix_and_pattern_and_come_in_pages(cloud: LocalCloud) -> None:
    logs, group = cloud.client("logs"), "found"
    logs.create_log_group(logGroupName=group)
    now = int(time.time() * 1000)
    for stream in ("run/a", "run/b", "other/c"):
        logs.create_log_stream(logGroupName=group, logStreamName=stream)
        lines = [json.dumps({"kind": kind, "from": stream}) for kind in ("saved", "step", "saved")]
        events = [{"timestamp": now + number, "message": line} for number, line in enumerate(lines)]
        logs.put_log_events(logGroupName=group, logStreamName=stream, logEvents=events)

    asked = {"logGroupName": group, "logStreamNamePrefix": "run/", "filterPattern": '{ $.kind = "saved" }'}
    pages = list(logs.get_paginator("filter_log_events").paginate(**asked, PaginationConfig={"PageSize": 3}))
    # A page may be empty though it is not the last one.
    assert [len(page["events"]) for page in pages] == [3, 0, 1]
    assert {event["logStreamName"] for page in pages for event in page["events"]} == {"run/a", "run/b"}
    assert logs.filter_log_events(**{**asked, "logStreamNamePrefix": "none"})["events"] == []
    assert len(logs.filter_log_events(logGroupName=group, startTime=now + 1)["events"]) == 6


def test_log_events_that_come_late_shift_no_page(cloud: LocalCloud) -> None:
    logs, group = cloud.client("logs"), "late"
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="a")
    now = int(time.time() * 1000)

    def put(*moments: int) -> None:
        events = [{"timestamp": now + moment, "message": str(moment)} for moment in moments]
        logs.put_log_events(logGroupName=group, logStreamName="a", logEvents=events)

    put(1, 2, 3)
    first = logs.filter_log_events(logGroupName=group, limit=2)
    put(0)
    empty = logs.filter_log_events(logGroupName=group, limit=2, nextToken=first["nextToken"])
    rest = logs.filter_log_events(logGroupName=group, limit=2, nextToken=empty["nextToken"])
    assert [event["message"] for page in (first, empty, rest) for event in page["events"]] == ["1", "2", "3"]


def test_a_page_of_log_events_has_at_most_a_megabyte(cloud: LocalCloud) -> None:
    logs, group = cloud.client("logs"), "large"
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="a")
    now = int(time.time() * 1000)
    for number in range(3):
        event = {"timestamp": now + number, "message": "x" * 400_000}
        logs.put_log_events(logGroupName=group, logStreamName="a", logEvents=[event])
    assert len(logs.filter_log_events(logGroupName=group)["events"]) == 2


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"logStreamNames": ["a", "none"]}, "ResourceNotFoundException"),
        ({"logStreamNames": [f"s{number}" for number in range(101)]}, "InvalidParameterException"),
        ({"logStreamNames": ["a"], "logStreamNamePrefix": "a"}, "InvalidParameterException"),
    ],
)
def test_log_streams_that_cannot_be_searched_are_refused(cloud: LocalCloud, asked: dict[str, Any], code: str) -> None:
    logs, group = cloud.client("logs"), f"refused-{code}-{len(asked)}"
    logs.create_log_group(logGroupName=group)
    logs.create_log_stream(logGroupName=group, logStreamName="a")
    with pytest.raises(ClientError, match=code):
        logs.filter_log_events(logGroupName=group, **asked)


def test_a_pattern_that_cannot_be_read_is_refused(deployed: Deployed) -> None:
    with pytest.raises(ClientError, match="InvalidParameterException"):
        deployed.cloud.client("logs").filter_log_events(logGroupName=deployed.outputs["Logs"], filterPattern="{ x }")


def test_a_schedule_reaches_its_lambda_and_the_lambda_its_log(deployed: Deployed) -> None:
    group = f"/aws/lambda/{deployed.outputs['Probe']}"
    asked = {"logGroupName": group, "filterPattern": "{ $.received.tick IS TRUE }"}
    eventually(lambda: deployed.cloud.client("logs").filter_log_events(**asked)["events"])


def test_it_is_up_in_seconds_and_answers_in_milliseconds(cloud: LocalCloud) -> None:
    fsx = cloud.client("fsx")
    fsx.describe_file_systems()
    started = time.perf_counter()
    for _ in range(20):
        fsx.describe_file_systems()
    # Generous by a factor of twenty: this is to catch what makes every poll of a run slow.
    assert (time.perf_counter() - started) / 20 < 0.2
