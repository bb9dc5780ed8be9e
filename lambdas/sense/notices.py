"""What a person is told by mail: which run, why, what of it is safe, what to do next. No work waits for it."""

from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from lambdas.sense.telemetry import logger


@dataclass(frozen=True)
class Notice:
    subject: str
    job: str
    run: str
    reason: str
    last_verified_step: int | None
    next_command: str
    chapter: str

    @property
    def text(self) -> str:
        step = "none" if self.last_verified_step is None else str(self.last_verified_step)
        return (
            f"Run {self.run} of job {self.job}: {self.reason}\nLast verified step: {step}.\n\n"
            f"Next: {self.next_command}\ndocs/operations.md, {self.chapter}"
        )


def tell(sns: Any, topic_arn: str, notice: Notice) -> bool:
    """False if nobody could be told; the alarm beside it does not depend on this."""
    try:
        sns.publish(TopicArn=topic_arn, Subject=notice.subject, Message=notice.text)
    except (ClientError, BotoCoreError):
        logger.exception("nobody could be told", extra={"run": notice.run, "subject": notice.subject})
        return False
    return True
