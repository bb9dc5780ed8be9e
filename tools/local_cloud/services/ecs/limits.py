"""How much one request to ECS may ask (botocore's model of ECS: documentation of RunTask, ListTasks, DescribeTasks)."""

from __future__ import annotations

import json
import re

from tools.local_cloud.services.ecs.model import Wire
from tools.local_cloud.services.errors import AwsError

MOST_OVERRIDE_CHARACTERS = 8192
MOST_TASKS_OF_A_CALL = 10
MOST_TASKS_DESCRIBED = 100
MOST_RESULTS = 100
MOST_TAGS = 50
# ECS developer guide, "Service quotas": tasks in the PROVISIONING state per cluster.
MOST_PROVISIONING = 500
_TOKEN = re.compile(r"[!-~]{1,64}")
# Of letters, numbers, -, / and _, says the model; but Step Functions itself says "AWS Step Functions".
LONGEST_STARTED_BY = 128


def refused(message: str) -> AwsError:
    """ECS's error for most mistakes."""
    return AwsError("InvalidParameterException", message)


def check_run_task(request: Wire) -> None:
    """Refuses what is too long or too much."""
    overrides = json.dumps(request.get("overrides") or {}, separators=(",", ":"))
    if len(overrides) > MOST_OVERRIDE_CHARACTERS:
        raise refused(f"Container Overrides length must be at most {MOST_OVERRIDE_CHARACTERS}")
    if not 1 <= request.get("count", 1) <= MOST_TASKS_OF_A_CALL:
        raise refused(f"Count must be between 1 and {MOST_TASKS_OF_A_CALL}.")
    if "clientToken" in request and not _TOKEN.fullmatch(request["clientToken"]):
        raise refused("The client token must have up to 64 characters in the range of 33-126.")
    if len(request.get("startedBy") or "") > LONGEST_STARTED_BY:
        raise refused(f"startedBy must have at most {LONGEST_STARTED_BY} characters.")
    keys = [tag["key"] for tag in request.get("tags") or []]
    if len(keys) > MOST_TAGS or len(set(keys)) != len(keys) or any(key.lower().startswith("aws:") for key in keys):
        raise refused(f"A task has at most {MOST_TAGS} tags, each with a key of its own that does not begin with aws:.")


def check_list(request: Wire) -> None:
    """A page has 1 to 100 results."""
    if not 1 <= request.get("maxResults", MOST_RESULTS) <= MOST_RESULTS:
        raise refused(f"maxResults must be between 1 and {MOST_RESULTS}.")


def check_describe(request: Wire) -> None:
    """ "A list of up to 100 task IDs or full ARN entries." """
    tasks = request.get("tasks") or []
    if not tasks:
        raise refused("Tasks cannot be empty.")
    if len(tasks) > MOST_TASKS_DESCRIBED:
        raise refused(f"Tasks cannot have more than {MOST_TASKS_DESCRIBED} elements.")
