"""The calls that runs made on the local cloud, one JSON line for each kind of call.

The golden file has those of whole runs, for a check that needs no cloud; `python -m tests.permissions.record` makes it
anew. What an end-to-end test makes beside these is put to the simulator as soon as the test is over.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from local_cloud.cloud import LocalCloud
from tests.permissions.names import Names, line_of
from tests.permissions.simulator import ALLOWED, Question, ask, policies_of
from tests.support.templates import Assembly

GOLDEN = Path(__file__).parent / "golden" / "calls.jsonl"


def golden() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLDEN.read_text().splitlines()]


def questions(calls: list[dict[str, Any]]) -> list[Question]:
    return [Question(one["role"], one["action"], one["resource"], one["context"]) for one in calls]


def calls_of(cloud: LocalCloud, assembly: Assembly) -> list[str]:
    """Every kind of call that roles of ours made, as the golden file has them; `assembly` is what is deployed there."""
    names = _names(cloud, assembly)
    return sorted({line_of(call) for raw in cloud.calls() if (call := names.call(raw))})


def refused_by_the_simulator(cloud: LocalCloud, assembly: Assembly) -> list[str]:
    """With the verdict. Calls of the golden file are judged in test_recorded_calls.py, and others once in a cloud."""
    judged = _judged(cloud)
    new = [line for line in calls_of(cloud, assembly) if line not in judged]
    if not new:
        return []
    verdicts = ask(policies_of(assembly), questions([json.loads(line) for line in new]))
    judged.update(line for line, verdict in zip(new, verdicts, strict=True) if verdict == ALLOWED)
    return [f"{verdict}: {line}" for line, verdict in zip(new, verdicts, strict=True) if verdict != ALLOWED]


@cache
def _judged(_cloud: LocalCloud) -> set[str]:
    return {line_of(call) for call in golden()}


@cache
def _names(cloud: LocalCloud, assembly: Assembly) -> Names:
    deployed = cloud.client("cloudformation")
    physical = {}
    for stack in assembly.stacks:
        pages = deployed.get_paginator("list_stack_resources").paginate(StackName=stack)
        found = [one for page in pages for one in page["StackResourceSummaries"]]
        physical[stack] = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in found}
    return Names(assembly, physical)
