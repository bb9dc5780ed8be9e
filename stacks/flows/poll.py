"""Waiting for AWS: ask a probe until it gives the wanted answer, within a limit."""

from collections.abc import Mapping, Sequence

from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.messages.probes import Phase, ProbeAnswer
from belay.contract.states import State
from stacks.flows.calls import Ask, answer_of, on_any_error
from stacks.flows.jsonata import Expression, Variable, assigned, condition, given
from stacks.functions.flow_function import FlowFunction


class Poll(sfn.StateMachineFragment):
    """Wait, ask, decide, again. Goes on when a wanted phase is reached, else to `otherwise` with a `reason`.

    The limit is a number of polls: it holds whatever the clock does. `counter` is the variable that counts them;
    inside a Parallel it needs a name of its own, because no variable may hide one from outside.
    """

    def __init__(
        self,
        scope: Construct,
        id: State,
        *,
        function: FlowFunction,
        question: Mapping[str, object],
        every_seconds: int,
        within_seconds: Expression | int,
        otherwise: sfn.IChainable,
        until: Sequence[Phase] = (Phase.READY,),
        assign: Mapping[Variable, object] | None = None,
        counter: str = "polls",
    ) -> None:
        super().__init__(scope, id)
        polls, phase, reason = Variable(counter), given(ProbeAnswer).phase, answer_of(function).reason
        start = sfn.Pass.jsonata(self, f"{id}: asked for", assign=assigned({polls: 0}))
        wait = sfn.Wait.jsonata(self, f"{id}: wait", time=sfn.WaitTime.seconds(condition(every_seconds)))
        ask = Ask(
            self,
            f"{id}: how far?",
            function=function,
            question=question,
            assign={polls: Expression(f"{polls} + 1"), **(assign or {})},
            outputs=Expression(f"$merge([{answer_of(function)}, {{'reason': '{id}: ' & {reason}}}])"),
        )
        reached = sfn.Pass.jsonata(self, f"{id}: {until[0]}")
        goes_on = f"{phase} in {_list([Phase.PENDING, Phase.READY])}"
        in_time = f"{polls} * {every_seconds} < {within_seconds}"
        decide = (
            sfn.Choice.jsonata(self, f"{id}: {until[0]}?")
            .when(sfn.Condition.jsonata(condition(f"{phase} in {_list(until)}")), reached)
            .when(sfn.Condition.jsonata(condition(f"{goes_on} and {in_time}")), wait)
            .otherwise(otherwise)
        )
        on_any_error([ask], otherwise)
        start.next(wait).next(ask).next(decide)
        self._start, self._reached = start, reached

    @property
    def start_state(self) -> sfn.State:
        return self._start

    @property
    def end_states(self) -> list[sfn.INextable]:
        return [self._reached]


def _list(phases: Sequence[Phase]) -> str:
    return "[" + ", ".join(f"'{phase}'" for phase in phases) + "]"
