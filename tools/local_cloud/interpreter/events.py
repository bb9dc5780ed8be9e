"""Events that AWS itself sends to EventBridge, such as Step Functions Execution Status Change."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Any

from tools.local_cloud import engines

LARGEST_PAYLOAD = 248 * 1024


def publish(record: dict[str, Any]) -> None:
    """Sends the event of an execution's present status."""
    announce(
        "aws.states", "Step Functions Execution Status Change", _detail(record), resources=[record["executionArn"]]
    )


def announce(source: str, kind: str, detail: dict[str, Any], *, resources: Sequence[str] = ()) -> None:
    """An event that only AWS can send."""
    entry = {"Source": source, "DetailType": kind, "Detail": json.dumps(detail), "Resources": list(resources)}
    engines.use("ministack.services.eventbridge", "_put_events")({"Entries": [entry]}, allow_aws_source=True)


def _detail(record: dict[str, Any]) -> dict[str, Any]:
    """The detail: times in milliseconds, input and output as JSON text, null where AWS has null."""
    status = record["status"]
    shown_input, input_details = _payload(record.get("input"))
    shown_output, output_details = _payload(record.get("output") if status == "SUCCEEDED" else None)
    return {
        "executionArn": record["executionArn"],
        "stateMachineArn": record["stateMachineArn"],
        "name": record["name"],
        "status": status,
        "startDate": _milliseconds(record.get("startDate")),
        "stopDate": _milliseconds(record.get("stopDate")),
        "input": shown_input,
        "output": shown_output,
        "stateMachineVersionArn": None,
        "stateMachineAliasArn": None,
        "redriveCount": 0,
        "redriveDate": None,
        "redriveStatus": "NOT_REDRIVABLE" if status in ("RUNNING", "SUCCEEDED") else "REDRIVABLE",
        "redriveStatusReason": f"Execution is {status} and cannot be redriven"
        if status in ("RUNNING", "SUCCEEDED")
        else None,
        "inputDetails": input_details,
        "outputDetails": output_details,
        "error": record.get("error"),
        "cause": record.get("cause"),
    }


def _payload(text: str | None) -> tuple[str | None, dict[str, bool] | None]:
    if text is None:
        return None, None
    fits = len(text) <= LARGEST_PAYLOAD
    return (text if fits else None), {"included": fits}


def _milliseconds(stamp: str | None) -> int | None:
    return int(datetime.datetime.fromisoformat(stamp).timestamp() * 1000) if stamp else None
