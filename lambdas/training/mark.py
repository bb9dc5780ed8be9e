"""Tag a file system with what it may hold: `in-use` before training, `kept` when its export is not verified."""

import re
from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import clock
from belay.aws.away import names_services_away
from belay.aws.clients import client
from belay.aws.telemetry import logger
from belay.contract import tags
from belay.contract.errors import FileSystemGone
from belay.contract.messages.training import MarkAnswer, MarkQuestion

_LONGEST_TAG = 256
_NOT_IN_A_TAG = re.compile(r"[^\w .:/=+@-]+")


@logger.inject_lambda_context(clear_state=True)
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    mark = MarkQuestion.model_validate(event)
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
        raise FileSystemGone(f"{mark.file_system_id} is gone") from None
    return MarkAnswer().model_dump(mode="json")


def _arn(file_system_id: str, function_arn: str) -> str:
    """In the same partition, Region and account as this function."""
    _, partition, _, region, account, *_ = function_arn.split(":")
    return f"arn:{partition}:fsx:{region}:{account}:file-system/{file_system_id}"
