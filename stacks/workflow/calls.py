"""What a flow is made of: direct AWS calls, questions put to Lambdas, and how patiently both are repeated."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct


def insist(state: sfn.TaskStateBase | sfn.CustomState, *, answers: Sequence[str] = (), busy: str | None = None) -> None:
    """Repeat whatever failed, with back-off and jitter: every call of ours is idempotent, by token or by nature.

    `answers` are errors that say something and are not repeated. `busy` is the error that only asks for time:
    something else of ours is under way, which ends by itself.
    """
    if answers:
        state.add_retry(errors=list(answers), max_attempts=0)
    if busy:
        state.add_retry(errors=[busy], interval=Duration.seconds(30), backoff_rate=1, max_attempts=240)
    state.add_retry(
        errors=["States.ALL"],
        interval=Duration.seconds(2),
        backoff_rate=2,
        max_attempts=5,
        max_delay=Duration.seconds(60),
        jitter_strategy=sfn.JitterType.FULL,
    )


class AwsCall(sfn.CustomState):
    """`aws-sdk:<service>:<action>` as a state that carries the statements its machine's role needs for it.

    CDK's own CallAwsService grants an action on resources without conditions. A role that may delete file systems
    must be held to Belay's own by their tags, so here each call brings its statements along.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        service: str,
        action: str,
        arguments: dict[str, Any] | str,
        allowed_by: Sequence[iam.PolicyStatement],
        assign: dict[str, Any] | None = None,
        answers: Sequence[str] = (),
        busy: str | None = None,
    ) -> None:
        state: dict[str, Any] = {
            "Type": "Task",
            "QueryLanguage": "JSONata",
            "Resource": f"arn:{Aws.PARTITION}:states:::aws-sdk:{service}:{action}",
            "Arguments": arguments,
            "TimeoutSeconds": 60,
        }
        if assign:
            state["Assign"] = assign
        super().__init__(scope, id, state_json=state)
        self.allowed_by = allowed_by
        insist(self, answers=answers, busy=busy)


class Ask(tasks.LambdaInvoke):
    """A question put to one of our Lambdas; `assign` keeps what the flow needs of the answer."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        function: lambda_.IFunction,
        question: dict[str, Any],
        assign: dict[str, Any] | None = None,
        outputs: str | dict[str, str] = "{% $states.result.Payload %}",
        answers: Sequence[str] = (),
    ) -> None:
        super().__init__(
            scope,
            id,
            lambda_function=function,
            payload=sfn.TaskInput.from_object(question),
            query_language=sfn.QueryLanguage.JSONATA,
            assign=assign,
            outputs=outputs,
            retry_on_service_exceptions=False,
        )
        insist(self, answers=answers)


# For people: what a probe or an error left in the input of the state that it led to.
REASON = (
    "{% $exists($states.input.reason) ? $states.input.reason"
    " : $states.input.Error & ': ' & $substring($states.input.Cause, 0, 500) %}"
)


def on_any_error(states: Sequence[sfn.TaskStateBase | sfn.CustomState | sfn.Map], go_to: sfn.IChainable) -> None:
    """What no repetition could mend leads there, with the error as its input."""
    for state in states:
        state.add_catch(go_to, errors=["States.ALL"])
