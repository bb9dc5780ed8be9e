"""Writes on a file system's tag what may be on it: `in-use` before training, `kept` when nothing could be proven."""

import re
from datetime import datetime
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext
from pydantic import BaseModel

from contract import tags
from lambdas.sense import clock
from lambdas.sense.clients import client
from lambdas.sense.exceptions import FileSystemGone
from lambdas.sense.telemetry import logger

_LONGEST_TAG = 256
_NOT_IN_A_TAG = re.compile(r"[^\w .:/=+@-]+")


class Mark(BaseModel):
    file_system_id: str
    state: tags.State
    why: str | None = None
    since: datetime | None = None
    usd_a_day: float | None = None


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    mark = Mark.model_validate(event)
    words = {tags.STATE: mark.state.value}
    if mark.why is not None:
        words[tags.KEPT_WHY] = " ".join(_NOT_IN_A_TAG.sub(" ", mark.why).split())[:_LONGEST_TAG]
        # Kept again by a later teardown, it is kept since the first: the sweep counts its pauses from there.
        words[tags.KEPT_SINCE] = (mark.since or clock.now()).isoformat(timespec="seconds")
        if mark.usd_a_day is not None:
            words[tags.KEPT_USD_A_DAY] = f"{mark.usd_a_day:.2f}"
    fsx = client("fsx")
    try:
        fsx.tag_resource(
            ResourceARN=_arn(mark.file_system_id, context.invoked_function_arn),
            Tags=[{"Key": key, "Value": value} for key, value in words.items()],
        )
    except fsx.exceptions.ResourceNotFound:
        raise FileSystemGone(f"{mark.file_system_id} is there no longer") from None
    return {"state": mark.state}


def _arn(file_system_id: str, function_arn: str) -> str:
    """In the same partition, Region and account as this function."""
    _, partition, _, region, account, *_ = function_arn.split(":")
    return f"arn:{partition}:fsx:{region}:{account}:file-system/{file_system_id}"
