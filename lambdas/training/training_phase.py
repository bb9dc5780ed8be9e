"""Are the training tasks of this run (or of one attempt at it) alive, and does each have an instance?"""

from typing import Any

from aws_lambda_powertools.utilities.typing import LambdaContext

from belay.aws import backend
from belay.aws.away import names_services_away
from belay.aws.telemetry import logger
from belay.contract.messages.probes import Phase, TrainingPhaseAnswer, TrainingPhaseQuestion
from belay.policy.phases import Reading
from belay.policy.training_tasks import reading_of


@logger.inject_lambda_context(clear_state=True)
@names_services_away
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    question = TrainingPhaseQuestion.model_validate(event)
    tasks = backend.connect().tasks_of(question.run, attempt=question.attempt)
    reading = reading_of(tasks, expected=question.expected)
    # The flow asks for an attempt that it has just started; it may take a while to be listed.
    if question.attempt is not None and not tasks:
        reading = Reading(Phase.PENDING, "the training task is not listed yet")
    answer = TrainingPhaseAnswer(
        phase=reading.phase, reason=reading.reason, tasks=[task.id for task in tasks if task.may_write]
    )
    return answer.model_dump(mode="json")
