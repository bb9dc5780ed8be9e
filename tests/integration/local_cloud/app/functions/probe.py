"""The Lambda of the fixture app: describes a file system with its own role, fails on request, receives events."""

import json
import os
from typing import Any

import boto3


class JobRefused(Exception):
    """An error with a name of its own."""


def handler(event: dict[str, Any], context: object) -> dict[str, Any]:
    print(json.dumps({"received": event}), flush=True)
    if "refuse" in event:
        raise JobRefused(event["refuse"])
    if "delete" in event:
        boto3.client("fsx").delete_file_system(FileSystemId=event["delete"])
    if "file_system_id" not in event:
        return {"received": True, "deployment": os.environ["DEPLOYMENT"]}
    found = boto3.client("fsx").describe_file_systems(FileSystemIds=[event["file_system_id"]])["FileSystems"][0]
    return {
        "phase": "ready" if found["Lifecycle"] == "AVAILABLE" else "pending",
        "dns_name": found["DNSName"],
        "mount_name": found["LustreConfiguration"]["MountName"],
    }
