"""What a flow is made of: direct AWS calls, questions put to Lambdas, and how often both are repeated."""

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Aws, Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from belay.contract.messages.probes import ProbeAnswer
from belay.contract.states import State
from stacks.flows.aws_errors import LAMBDA_AWAY
from stacks.flows.jsonata import Expression, Place, Variable, assigned, filled, given, rendered
from stacks.functions.flow_function import FlowFunction


def add_retries(
    state: sfn.TaskStateBase | sfn.CustomState,
    *,
    no_retry: Sequence[str] = (),
    wait_on: str | None = None,
    away: Sequence[str] = (),
    errors: Sequence[str] = ("States.ALL",),
) -> None:
    """Repeat a call that failed, with back-off and jitter: every call of ours is idempotent, by token or by nature.

    `no_retry` are errors that would be the same again. `wait_on` is the error of a call that came while something else
    of ours was under way, which ends by itself. `away` are those of a service that may be away for hours. `errors` are
    named where a task that ran and failed must not run again: a rule for States.TaskFailed without attempts would keep
    throttles from being repeated too.
    """
    if no_retry:
        state.add_retry(errors=list(no_retry), max_attempts=0)
    if away:
        # For ten hours: the longest outage of a service that we know of took eight (aws.amazon.com/message/101925).
        state.add_retry(
            errors=list(away),
            interval=Duration.seconds(5),
            backoff_rate=2,
            max_attempts=28,
            max_delay=Duration.minutes(30),
        )
    if wait_on:
        state.add_retry(errors=[wait_on], interval=Duration.seconds(30), backoff_rate=1, max_attempts=240)
    state.add_retry(
        errors=list(errors),
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
        arguments: Mapping[str, object] | Expression,
        allowed_by: Sequence[iam.PolicyStatement],
        assign: Mapping[Variable, object] | None = None,
        no_retry: Sequence[str] = (),
        wait_on: str | None = None,
    ) -> None:
        state: dict[str, Any] = {
            "Type": "Task",
            "QueryLanguage": "JSONata",
            "Resource": f"arn:{Aws.PARTITION}:states:::aws-sdk:{service}:{action}",
            "Arguments": rendered(arguments),
            "TimeoutSeconds": 60,
        }
        if assign:
            state["Assign"] = assigned(assign)
        super().__init__(scope, id, state_json=state)
        self.allowed_by = allowed_by
        add_retries(self, no_retry=no_retry, wait_on=wait_on)


class Ask(tasks.LambdaInvoke):
    """A question put to one of our Lambdas; `assign` keeps what the flow needs of the answer."""

    def __init__(
        self,
        scope: Construct,
        id: State | str,
        *,
        function: FlowFunction,
        question: Mapping[str, object],
        assign: Mapping[Variable, object] | None = None,
        outputs: Expression | Mapping[str, object] | None = None,
        no_retry: Sequence[str] = (),
    ) -> None:
        super().__init__(
            scope,
            id,
            lambda_function=function.version,
            payload=sfn.TaskInput.from_object(filled(function.question, question)),
            query_language=sfn.QueryLanguage.JSONATA,
            assign=assigned(assign) if assign else None,
            outputs=rendered(answer_of(function) if outputs is None else outputs),
            retry_on_service_exceptions=False,
        )
        self.allowed_by = [function.every_version()]
        add_retries(self, no_retry=no_retry, away=LAMBDA_AWAY)


def answer_of(function: FlowFunction) -> Place:
    """The answer of a Lambda, in the state that asked it."""
    return Place("$states.result.Payload", function.answer)


# For people: what a probe or an error left in the input of the state that it led to.
_REASON = given(ProbeAnswer).reason
REASON = Expression(
    f"$exists({_REASON}) ? {_REASON} : $states.input.Error & ': ' & $substring($states.input.Cause, 0, 500)"
)


def on_any_error(states: Sequence[sfn.TaskStateBase | sfn.CustomState | sfn.Map], go_to: sfn.IChainable) -> None:
    """Where an error leads that no retry helped against, as the input of that state."""
    for state in states:
        state.add_catch(go_to, errors=["States.ALL"])
