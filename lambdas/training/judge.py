"""How did this attempt at training end, and what comes next? Reads nothing from AWS, and always answers."""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws.telemetry import logger
from belay.contract.messages.training import Attempts, JudgeAnswer, JudgeQuestion, Wait
from belay.policy import judging


@logger.inject_lambda_context(clear_state=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    question = JudgeQuestion.model_validate(event)
    ending = judging.of_nodes([judging.of_node(0, question.error, question.cause)])
    retry, attempts = judging.decide_retry(ending.outcome, question.attempts, question.retry)
    wait = Wait.NOTHING if retry else judging.wait_of(ending)
    logger.info(
        "training ended", extra={"outcome": ending.outcome, "reason": ending.reason, "retry": retry, "wait": wait}
    )
    answer = JudgeAnswer(
        **ending.model_dump(),
        retry=retry,
        attempts=Attempts(**attempts),
        wait=wait,
    )
    return answer.model_dump(mode="json")
