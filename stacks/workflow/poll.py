"""Waiting for AWS: ask a probe until it gives the wanted answer, within a limit."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from stacks.workflow.calls import Ask, on_any_error


class Poll(sfn.StateMachineFragment):
    """Wait, ask, decide, again. Goes on when a wanted phase is reached, else to `otherwise` with a `reason`.

    The limit is a number of polls: it holds whatever the clock does. `counter` is the variable that counts them;
    inside a Parallel it needs a name of its own, because no variable may hide one from outside.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        function: lambda_.IFunction,
        question: dict[str, Any],
        every_seconds: int,
        within_seconds: str,
        otherwise: sfn.IChainable,
        until: Sequence[str] = ("ready",),
        assign: dict[str, Any] | None = None,
        counter: str = "polls",
    ) -> None:
        super().__init__(scope, id)
        start = sfn.Pass.jsonata(self, f"{id}: asked for", assign={counter: 0})
        wait = sfn.Wait.jsonata(self, f"{id}: wait", time=sfn.WaitTime.seconds(f"{{% {every_seconds} %}}"))
        ask = Ask(
            self,
            f"{id}: how far?",
            function=function,
            question=question,
            assign={counter: f"{{% ${counter} + 1 %}}", **(assign or {})},
            outputs="{% $merge([$states.result.Payload, {'reason': '"
            + id
            + ": ' & $states.result.Payload.reason}]) %}",
        )
        there = sfn.Pass.jsonata(self, f"{id}: {until[0]}")
        decide = (
            sfn.Choice.jsonata(self, f"{id}: {until[0]}?")
            .when(sfn.Condition.jsonata(f"{{% $states.input.phase in {_list(until)} %}}"), there)
            .when(sfn.Condition.jsonata(f"{{% {_more(counter, every_seconds, within_seconds)} %}}"), wait)
            .otherwise(otherwise)
        )
        on_any_error([ask], otherwise)
        start.next(wait).next(ask).next(decide)
        self._start, self._there = start, there

    @property
    def start_state(self) -> sfn.State:
        return self._start

    @property
    def end_states(self) -> list[sfn.INextable]:
        return [self._there]


def _list(words: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{word}'" for word in words) + "]"


def _more(counter: str, every_seconds: int, within_seconds: str) -> str:
    return f"$states.input.phase in ['pending', 'ready'] and ${counter} * {every_seconds} < {within_seconds}"
