"""How did this attempt at training end, and does the job want another? Asks nobody, and always answers."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from lambdas.sense import judging
from lambdas.sense.telemetry import logger


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    ending = judging.of_task(event.get("error"), event.get("cause"))
    retry, attempts = judging.decide_retry(ending.outcome, event.get("attempts"), event.get("retry"))
    logger.info("training ended", extra={"outcome": ending.outcome, "reason": ending.reason, "retry": retry})
    return {**ending.model_dump(mode="json"), "retry": retry, "attempts": attempts}
