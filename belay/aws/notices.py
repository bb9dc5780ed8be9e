"""Sends notices. No work waits for one."""

from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from belay.aws.telemetry import logger
from belay.policy.notices import Notice


def tell(sns: Any, topic_arn: str, notice: Notice) -> bool:
    """False if it could not be sent; the alarm beside it does not depend on this."""
    try:
        sns.publish(TopicArn=topic_arn, Subject=notice.subject, Message=notice.text)
    except (ClientError, BotoCoreError):
        logger.exception("a notice could not be sent", extra={"run": notice.run, "subject": notice.subject})
        return False
    return True
