"""How a run waits that AWS cannot start: without a file system, so at no cost, until it can begin again."""

from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.messages.training import Wait
from belay.contract.states import TrainState
from stacks.backends.base import CarryingState
from stacks.flows.jsonata import Expression, assigned, condition
from stacks.flows.variables import WAIT_SECONDS, OfTrain


class WaitToStart(sfn.StateMachineFragment):
    """Give the file system back, wait, and begin again with another.

    Where an instance was missing, one is found first: it waits some ten minutes for its file system, so that no file
    system waits hours for its instance. What was saved before is in S3, and is resumed from there.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        give_back: sfn.TaskStateBase,
        find_an_instance: CarryingState,
        begin: sfn.IChainable,
        otherwise: sfn.IChainable,
    ) -> None:
        super().__init__(scope, id)
        may_pass = f"{OfTrain.wait} != '{Wait.NOTHING}'"
        in_time = f"{OfTrain.start_polls} * {WAIT_SECONDS} < {OfTrain.limits.start}"
        may_wait = sfn.Choice.jsonata(self, TrainState.MAY_IT_WAIT)
        wait = sfn.Wait.jsonata(
            self,
            TrainState.WAIT_TO_START,
            time=sfn.WaitTime.seconds(condition(WAIT_SECONDS)),
            assign=assigned(
                {
                    OfTrain.start_polls: Expression(f"{OfTrain.start_polls} + 1"),
                    # Each file system gets the tries for an instance that the job allows.
                    OfTrain.attempts: Expression(f"$merge([{OfTrain.attempts}, {{'capacity': 0}}])"),
                }
            ),
        )
        missing = sfn.Choice.jsonata(self, TrainState.INSTANCE_MISSING)

        may_wait.when(_is(f"{may_pass} and {in_time}"), give_back).otherwise(otherwise)
        give_back.next(wait).next(missing)
        missing.when(_is(f"{OfTrain.wait} = '{Wait.INSTANCE}'"), find_an_instance).otherwise(begin)
        find_an_instance.next(begin)
        find_an_instance.add_catch(may_wait, errors=["States.ALL"])
        give_back.add_catch(otherwise, errors=["States.ALL"])
        self._start = may_wait

    @property
    def start_state(self) -> sfn.State:
        return self._start

    @property
    def end_states(self) -> list[sfn.INextable]:
        return []


def _is(text: str) -> sfn.Condition:
    return sfn.Condition.jsonata(condition(text))
