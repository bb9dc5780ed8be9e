"""Belay removed again: everything goes but the bucket, because checkpoints are deleted by people, knowingly."""

from pathlib import Path

from tools.local_cloud.cloud import LocalCloud
from tools.repository import REPOSITORY


def test_destroy_leaves_the_bucket_and_what_is_in_it(tmp_path: Path) -> None:
    with LocalCloud(state_dir=tmp_path) as cloud:
        cloud.bootstrap()
        cloud.deploy(REPOSITORY)
        s3 = cloud.client("s3")
        [bucket] = [one["Name"] for one in s3.list_buckets()["Buckets"] if one["Name"].startswith("belaydata-")]
        s3.put_object(Bucket=bucket, Key="jobs/digits/run/checkpoints/checkpoint-1/model.safetensors", Body=b"work")

        # What was synthesized for the deployment.
        cloud.destroy(cloud.settings.state_dir / "cdk.out" / REPOSITORY.name)

        assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 1
        assert cloud.client("stepfunctions").list_state_machines()["stateMachines"] == []
        left = cloud.client("lambda").list_functions()["Functions"]
        assert [one["FunctionName"] for one in left if one["FunctionName"].startswith("belay-")] == []
