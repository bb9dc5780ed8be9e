"""The flow chart of a run: accept, create scratch, link to S3, train, teardown, verdict.

A run that AWS cannot start gives its file system back and waits without one, then begins again (waiting.py).
"""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from belay.contract.certificate import AskedBy
from belay.contract.faults import JobRefused
from belay.contract.messages.probes import Phase
from belay.contract.messages.teardown import CertifyAnswer, TeardownInput
from belay.contract.messages.training import JudgeAnswer
from belay.contract.states import TrainState
from belay.contract.verdict import OF_TRAINING, TEARDOWN_UNFINISHED, Durability, Training
from stacks.backends.base import Backend
from stacks.flows.aws_errors import START_EXECUTION_TRANSIENT
from stacks.flows.calls import REASON, Ask, add_retries, answer_of, on_any_error
from stacks.flows.jsonata import ENTERED, Expression, assigned, condition, error, filled, given, record
from stacks.flows.links import LinkToS3
from stacks.flows.machine import machine
from stacks.flows.poll import Poll
from stacks.flows.scratch import create_scratch, mark_in_use
from stacks.flows.variables import OfTrain, ended
from stacks.flows.waiting import WaitToStart
from stacks.functions.functions import Functions
from stacks.network import Network
from stacks.ownership import Ownership

_EXECUTION = Expression("$states.context.Execution.Id")


def ending(outcome: object, reason: object, source: object = "task") -> dict[str, object]:
    """How training ended, as the flow knows it; teardown certifies it."""
    return {"outcome": outcome, "reason": reason, "source": source}


# What is known of a failed attempt before `How did it end?`, and all that is known if that fails.
_CRASHED = {
    OfTrain.failure: Expression("$states.errorOutput"),
    ended: ending(Training.CRASHED, Expression(f"$substring({error('Error')}, 0, 200)")),
}


def _verdict_of_a_failed_teardown() -> Expression:
    """A teardown that failed has the verdict in its own error and cause; one that was stopped has neither."""
    said = record(CertifyAnswer, training=ended.outcome, error="$end.Error", sentence="$end.Cause")
    unfinished = record(
        CertifyAnswer,
        training=ended.outcome,
        error=f"'{OF_TRAINING}' & {ended.outcome} & '.{TEARDOWN_UNFINISHED}'",
        sentence="'Teardown did not finish, and will be tried again: ' & $substring($cause, 0, 500)",
    )
    return Expression(
        f"($cause := {error('Cause')};"
        " $end := $substring($cause, 0, 1) = '{' ? $parse($cause) : {};"
        f" $substring($end.Error, 0, {len(OF_TRAINING)}) = '{OF_TRAINING}' ? {said} : {unfinished})"
    )


class TrainMachine(Construct):
    """Whatever fails on the way leads to teardown, and every run ends in a verdict."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        functions: Functions,
        backend: Backend,
        network: Network,
        ownership: Ownership,
        key: kms.IKey | None,
        allowed_on_s3: Sequence[iam.PolicyStatement],
        teardown: sfn.IStateMachine,
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(scope, id)
        never_started = self._never_started()

        accept = self._accept(functions)
        create = create_scratch(self, network=network, ownership=ownership, key=key)
        created = Poll(
            self,
            TrainState.SCRATCH,
            function=functions.training.scratch_phase,
            question={"file_system_id": OfTrain.file_system_id},
            every_seconds=30,
            within_seconds=OfTrain.limits.scratch,
            assign={OfTrain.scratch: answer_of(functions.training.scratch_phase)},
            otherwise=never_started,
        )
        mark = mark_in_use(self, functions=functions)
        link = LinkToS3(
            self,
            "Links",
            functions=functions,
            ownership=ownership,
            allowed_on_s3=allowed_on_s3,
            then=mark,
            otherwise=never_started,
        )
        run = backend.start(self)
        find = backend.find_an_instance(self)
        placed, give_up = backend.watch(self, training_phase=functions.training.training_phase)
        train = self._train().branch(run).branch(placed)
        how = self._judge(TrainState.HOW_DID_IT_END, functions)
        why = self._judge(TrainState.WHY_NOT_STARTED, functions)
        call_teardown = self._start_teardown(TrainState.TEARDOWN, teardown, starts_again=False)
        # A task whose start was reported to no one may still write: two at once would damage each other's checkpoints.
        alone = Poll(
            self,
            TrainState.EARLIER_ATTEMPT,
            function=functions.training.training_phase,
            question={"run": OfTrain.run},
            until=(Phase.GONE,),
            every_seconds=15,
            within_seconds=120,
            assign={OfTrain.attempt_began: ENTERED},
            otherwise=call_teardown,
        )
        alone.next(train)
        wait = WaitToStart(
            self,
            "Waiting",
            give_back=self._start_teardown(TrainState.GIVE_BACK, teardown, starts_again=True),
            find_an_instance=find,
            begin=create,
            otherwise=call_teardown,
        )
        verdict = self._verdict()

        accept.next(create).next(created).next(link)
        mark.next(train).next(call_teardown).next(verdict)

        on_any_error([create, mark], never_started)
        never_started.next(why).next(wait)
        train.add_catch(how, errors=["States.ALL"], assign=assigned(_CRASHED))
        how.next(self._try_again_or(alone, wait))
        on_any_error([how, why], call_teardown)
        unfinished = assigned({OfTrain.verdict: _verdict_of_a_failed_teardown()})
        call_teardown.add_catch(verdict, errors=["States.ALL"], assign=unfinished)

        self.machine = machine(
            self,
            "Machine",
            name=name,
            definition=accept,
            states=TrainState,
            carriers=[create, *link.carriers, run, find, give_up],
            # Longer than any limits in a job file: they end a run, this only ends what they could not.
            timeout=Duration.days(60),
            log_retention=log_retention,
        )

    def _accept(self, functions: Functions) -> Ask:
        """Parse once at the door: from here on everything is checked, and the job file is not looked at again."""
        answer = answer_of(functions.training.accept)
        accept = Ask(
            self,
            TrainState.ACCEPT_JOB,
            function=functions.training.accept,
            question={
                "job": Expression("$states.input"),
                "execution_arn": _EXECUTION,
                "started_at": Expression("$states.context.Execution.StartTime"),
            },
            assign={
                OfTrain.request: answer,
                OfTrain.run: answer.run,
                OfTrain.task: answer.task,
                OfTrain.limits: answer.limits,
                OfTrain.retry: answer.retry,
                OfTrain.attempt: 1,
                OfTrain.attempts: {"capacity": 0, "interruption": 0, "crash": 0},
                OfTrain.start_polls: 0,
            },
            no_retry=[JobRefused.__name__],
        )
        refused = sfn.Fail.jsonata(
            self,
            TrainState.JOB_REFUSED,
            error=JobRefused.__name__,
            cause="{% $parse($states.input.Cause).errorMessage %}",
        )
        not_accepted = sfn.Fail.jsonata(
            self, TrainState.NOT_ACCEPTED, error="{% $states.input.Error %}", cause="{% $states.input.Cause %}"
        )
        accept.add_catch(refused, errors=[JobRefused.__name__], outputs="{% $states.errorOutput %}")
        accept.add_catch(not_accepted, errors=["States.ALL"], outputs="{% $states.errorOutput %}")
        return accept

    def _never_started(self) -> sfn.Pass:
        return sfn.Pass.jsonata(
            self,
            TrainState.TRAINING_NEVER_STARTED,
            assign=assigned(
                {
                    ended: ending(Training.NEVER_STARTED, REASON),
                    OfTrain.failure: {"Error": Training.NEVER_STARTED, "Cause": REASON},
                }
            ),
        )

    def _train(self) -> sfn.Parallel:
        return sfn.Parallel.jsonata(
            self,
            TrainState.TRAIN,
            assign=assigned({ended: ending(Training.COMPLETED, "the trainer exited with code 0")}),
            outputs={},
        )

    def _judge(self, name: TrainState, functions: Functions) -> Ask:
        answer = answer_of(functions.training.judge)
        return Ask(
            self,
            name,
            function=functions.training.judge,
            question={
                "error": Expression(f"{OfTrain.failure}.Error"),
                "cause": Expression(f"{OfTrain.failure}.Cause"),
                "attempts": OfTrain.attempts,
                "retry": OfTrain.retry,
            },
            assign={
                ended: ending(answer.outcome, answer.reason, answer.source),
                OfTrain.attempts: answer.attempts,
                OfTrain.attempt: Expression(f"{OfTrain.attempt} + 1"),
                OfTrain.wait: answer.wait,
            },
        )

    def _try_again_or(self, again: sfn.IChainable, otherwise: sfn.IChainable) -> sfn.Choice:
        return (
            sfn.Choice.jsonata(self, TrainState.TRY_AGAIN)
            .when(sfn.Condition.jsonata(condition(given(JudgeAnswer).retry)), again)
            .otherwise(otherwise)
        )

    def _start_teardown(
        self, name: TrainState, teardown: sfn.IStateMachine, *, starts_again: bool
    ) -> tasks.StepFunctionsStartExecution:
        order: dict[str, object] = {"execution_arn": _EXECUTION, "ended": ended, "asked_by": AskedBy.TRAIN}
        if starts_again:
            order["starts_again"] = True
        call = tasks.StepFunctionsStartExecution.jsonata(
            self,
            name,
            state_machine=teardown,
            integration_pattern=sfn.IntegrationPattern.RUN_JOB,
            input=sfn.TaskInput.from_object(filled(TeardownInput, order)),
            assign=None if starts_again else assigned({OfTrain.verdict: Expression("$states.result.Output")}),
            outputs={},
        )
        # A teardown that failed has its reasons, and the sweep tries it again; only its start is repeated here.
        add_retries(call, errors=START_EXECUTION_TRANSIENT)
        return call

    def _verdict(self) -> sfn.Choice:
        verdict = OfTrain.verdict
        safe = f"['{Durability.VERIFIED}', '{Durability.NOTHING_SAVED}']"
        good = f"{verdict.training} = '{Training.COMPLETED}' and {verdict.durability} in {safe}"
        return (
            sfn.Choice.jsonata(self, TrainState.IS_TRAINED_AND_SAFE)
            .when(
                sfn.Condition.jsonata(condition(good)),
                sfn.Succeed.jsonata(self, TrainState.TRAINED_AND_SAFE, outputs=condition(verdict)),
            )
            .otherwise(
                sfn.Fail.jsonata(
                    self,
                    TrainState.NOT_TRAINED_OR_NOT_SAFE,
                    error=condition(verdict.error),
                    cause=condition(verdict.sentence),
                )
            )
        )
