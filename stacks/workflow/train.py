"""The flow chart of a run: accept, create scratch, link to S3, train, teardown, verdict."""

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from aws_cdk import aws_stepfunctions_tasks as tasks
from constructs import Construct

from contract.certificate import AskedBy
from contract.verdict import Durability, Training
from stacks.compute import Compute
from stacks.functions import Functions
from stacks.network import Network
from stacks.workflow.calls import REASON, Ask, insist, on_any_error
from stacks.workflow.machine import machine
from stacks.workflow.ownership import Ownership
from stacks.workflow.poll import Poll
from stacks.workflow.scratch import create_scratch, link_to_s3, mark_in_use
from stacks.workflow.training import RunTraining, watch_capacity


def ended(outcome: str, reason: str, source: str = "task") -> dict[str, str]:
    """How training ended, as the flow saw it; handed to teardown, which certifies it."""
    return {"outcome": outcome, "reason": reason, "source": source}


# What is known before anyone looked closer, and all that is known if nobody can.
_CRASHED = {
    "failure": "{% $states.errorOutput %}",
    "ended": ended(Training.CRASHED, "{% $substring($states.errorOutput.Error, 0, 200) %}"),
}
# A teardown that fails carries its verdict in its own error and cause; one that was stopped carries neither.
_VERDICT_OF_A_FAILED_TEARDOWN = (
    "{% ($cause := $states.errorOutput.Cause;"
    " $end := $substring($cause, 0, 1) = '{' ? $parse($cause) : {};"
    " $substring($end.Error, 0, 8) = 'Training'"
    " ? {'training': $ended.outcome, 'error': $end.Error, 'sentence': $end.Cause}"
    " : {'training': $ended.outcome, 'error': 'Training' & $ended.outcome & '.TeardownUnfinished',"
    " 'sentence': 'Teardown did not finish, and will be tried again: ' & $substring($cause, 0, 500)}) %}"
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
        compute: Compute,
        network: Network,
        ownership: Ownership,
        key: kms.IKey | None,
        teardown: sfn.IStateMachine,
        log_retention: logs.RetentionDays,
    ) -> None:
        super().__init__(scope, id)
        never_started = self._never_started()

        accept = self._accept(functions)
        create = create_scratch(self, network=network, ownership=ownership, key=key)
        created = Poll(
            self,
            "Scratch file system",
            function=functions.scratch_phase,
            question={"file_system_id": "{% $file_system_id %}"},
            every_seconds=30,
            within_seconds="$limits.scratch",
            assign={"scratch": "{% $states.result.Payload %}"},
            otherwise=never_started,
        )
        link, link_one = link_to_s3(self, ownership=ownership)
        linked = Poll(
            self,
            "Links",
            function=functions.links_phase,
            question={"file_system_id": "{% $file_system_id %}", "expected": "{% $count($request.links) %}"},
            every_seconds=30,
            within_seconds="$limits.link",
            otherwise=never_started,
        )
        mark = mark_in_use(self, functions=functions)
        run = RunTraining(self, compute=compute)
        placed, give_up = watch_capacity(self, compute=compute, functions=functions)
        train = self._train().branch(run).branch(placed)
        how = self._how_it_ended(functions)
        call_teardown = self._teardown(teardown)
        # A task of whose start ECS told nobody may still write: two at once would spoil each other's checkpoints.
        alone = Poll(
            self,
            "Earlier attempt",
            function=functions.training_phase,
            question={"run": "{% $run %}"},
            until=("gone",),
            every_seconds=15,
            within_seconds="120",
            otherwise=call_teardown,
        )
        alone.next(train)
        verdict = self._verdict()

        accept.next(create).next(created).next(link).next(linked).next(mark)
        mark.next(train).next(call_teardown).next(verdict)

        on_any_error([create, link, mark], never_started)
        never_started.next(call_teardown)
        train.add_catch(how, errors=["States.ALL"], assign=_CRASHED)
        how.next(self._try_again_or(alone, call_teardown))
        how.add_catch(call_teardown, errors=["States.ALL"])
        call_teardown.add_catch(verdict, errors=["States.ALL"], assign={"verdict": _VERDICT_OF_A_FAILED_TEARDOWN})

        self.machine = machine(
            self,
            "Machine",
            name=name,
            definition=accept,
            carriers=[create, link_one, run, give_up],
            # Longer than any limits in a job file: they end a run, this only ends what they could not.
            timeout=Duration.days(60),
            log_retention=log_retention,
        )

    def _accept(self, functions: Functions) -> Ask:
        """Parse once at the door: from here on everything is checked, and the job file is not looked at again."""
        accept = Ask(
            self,
            "Accept job",
            function=functions.accept,
            question={
                "job": "{% $states.input %}",
                "execution_arn": "{% $states.context.Execution.Id %}",
                "started_at": "{% $states.context.Execution.StartTime %}",
            },
            assign={
                "request": "{% $states.result.Payload %}",
                "run": "{% $states.result.Payload.run %}",
                "task": "{% $states.result.Payload.task %}",
                "limits": "{% $states.result.Payload.limits %}",
                "retry": "{% $states.result.Payload.retry %}",
                "attempt": 1,
                "attempts": {"capacity": 0, "interruption": 0, "crash": 0},
            },
            answers=["JobRefused"],
        )
        refused = sfn.Fail.jsonata(
            self, "Job refused", error="JobRefused", cause="{% $parse($states.input.Cause).errorMessage %}"
        )
        not_accepted = sfn.Fail.jsonata(
            self, "Not accepted", error="{% $states.input.Error %}", cause="{% $states.input.Cause %}"
        )
        accept.add_catch(refused, errors=["JobRefused"], outputs="{% $states.errorOutput %}")
        accept.add_catch(not_accepted, errors=["States.ALL"], outputs="{% $states.errorOutput %}")
        return accept

    def _never_started(self) -> sfn.Pass:
        return sfn.Pass.jsonata(
            self,
            "Training never started",
            assign={"ended": ended(Training.NEVER_STARTED, REASON)},
        )

    def _train(self) -> sfn.Parallel:
        return sfn.Parallel.jsonata(
            self,
            "Train",
            assign={"ended": ended(Training.COMPLETED, "the trainer exited with code 0")},
            outputs={},
        )

    def _how_it_ended(self, functions: Functions) -> Ask:
        return Ask(
            self,
            "How did it end?",
            function=functions.judge,
            question={
                "error": "{% $failure.Error %}",
                "cause": "{% $failure.Cause %}",
                "attempts": "{% $attempts %}",
                "retry": "{% $retry %}",
            },
            assign={
                "ended": ended(
                    "{% $states.result.Payload.outcome %}",
                    "{% $states.result.Payload.reason %}",
                    "{% $states.result.Payload.source %}",
                ),
                "attempts": "{% $states.result.Payload.attempts %}",
                "attempt": "{% $attempt + 1 %}",
            },
        )

    def _try_again_or(self, again: sfn.IChainable, teardown: sfn.IChainable) -> sfn.Choice:
        return (
            sfn.Choice.jsonata(self, "Try again?")
            .when(sfn.Condition.jsonata("{% $states.input.retry %}"), again)
            .otherwise(teardown)
        )

    def _teardown(self, teardown: sfn.IStateMachine) -> tasks.StepFunctionsStartExecution:
        call = tasks.StepFunctionsStartExecution.jsonata(
            self,
            "Teardown",
            state_machine=teardown,
            integration_pattern=sfn.IntegrationPattern.RUN_JOB,
            input=sfn.TaskInput.from_object(
                {
                    "execution_arn": "{% $states.context.Execution.Id %}",
                    "ended": "{% $ended %}",
                    "asked_by": AskedBy.TRAIN,
                }
            ),
            assign={"verdict": "{% $states.result.Output %}"},
            outputs={},
        )
        # A teardown that failed has its reasons, and is tried again by others; only its start is repeated here.
        insist(call, answers=["States.TaskFailed", "States.Timeout"])
        return call

    def _verdict(self) -> sfn.Choice:
        safe = f"['{Durability.VERIFIED}', '{Durability.NOTHING_SAVED}']"
        good = f"$verdict.training = '{Training.COMPLETED}' and $verdict.durability in {safe}"
        return (
            sfn.Choice.jsonata(self, "Trained and safe?")
            .when(
                sfn.Condition.jsonata(f"{{% {good} %}}"),
                sfn.Succeed.jsonata(self, "Trained and safe", outputs="{% $verdict %}"),
            )
            .otherwise(
                sfn.Fail.jsonata(
                    self, "Not trained or not safe", error="{% $verdict.error %}", cause="{% $verdict.sentence %}"
                )
            )
        )
