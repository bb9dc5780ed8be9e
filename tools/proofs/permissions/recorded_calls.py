"""The calls that runs made on the local cloud, one JSON line for each kind of call.

The golden file has the calls of whole runs, for a check without a cloud; `python -m tools.proofs.permissions.record`
writes it again. Other calls of an end-to-end test are simulated as soon as the test is over.
"""

import json
from functools import cache
from pathlib import Path
from typing import Any

from tools.definitions.templates import Assembly
from tools.local_cloud.cloud import LocalCloud
from tools.proofs.permissions.names import Names, line_of
from tools.proofs.permissions.simulator import ALLOWED, Question, ask, policies_of

GOLDEN = Path(__file__).parent / "golden" / "calls.jsonl"


def golden() -> list[dict[str, Any]]:
    return [json.loads(line) for line in GOLDEN.read_text().splitlines()]


def questions(calls: list[dict[str, Any]]) -> list[Question]:
    return [Question(one["role"], one["action"], one["resource"], one["context"]) for one in calls]


def calls_of(cloud: LocalCloud, assembly: Assembly) -> list[str]:
    """Every kind of call of our roles, as in the golden file; `assembly` is what is deployed there."""
    names = _names(cloud, assembly)
    return sorted({line_of(call) for raw in cloud.calls() if (call := names.call(raw))})


def refused_by_the_simulator(cloud: LocalCloud, assembly: Assembly) -> list[str]:
    """With the verdict. Calls of the golden file are simulated in test_recorded_calls.py, others once a cloud.

    A call that was refused here too is no such call: a file system that is gone has no tags that would allow it.
    """
    allowed = _simulated(cloud)
    lines = [line for line in calls_of(cloud, assembly) if json.loads(line).get("allowed", True)]
    new = [line for line in lines if line not in allowed]
    if not new:
        return []
    verdicts = ask(policies_of(assembly), questions([json.loads(line) for line in new]))
    allowed.update(line for line, verdict in zip(new, verdicts, strict=True) if verdict == ALLOWED)
    return [f"{verdict}: {line}" for line, verdict in zip(new, verdicts, strict=True) if verdict != ALLOWED]


@cache
def _simulated(_cloud: LocalCloud) -> set[str]:
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
