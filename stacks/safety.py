"""What works beside the flow: the pump and the Spot warning while training lives; rescue and sweep after it."""

from aws_cdk import Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.certificate import AskedBy
from belay.contract.max_loss import PUMP_EVERY


class Pump(Construct):
    """Each minute: export and verify what is whole, so that a lost server costs minutes and not the run."""

    def __init__(self, scope: Construct, id: str, *, function: lambda_.IFunction) -> None:
        super().__init__(scope, id)
        # No retries, neither of the rule nor of the function: the next minute is the retry.
        function.configure_async_invoke(retry_attempts=0)
        events.Rule(
            self,
            "EachMinute",
            schedule=events.Schedule.rate(Duration.seconds(PUMP_EVERY.total_seconds())),
            targets=[targets.LambdaFunction(function, retry_attempts=0)],
        )


class Rescue(Construct):
    """A Catch is no finally: an aborted or timed-out execution runs nothing more, so its teardown starts from here."""

    def __init__(self, scope: Construct, id: str, *, train: sfn.IStateMachine, teardown: sfn.IStateMachine) -> None:
        super().__init__(scope, id)
        self.undelivered = sqs.Queue(
            self,
            "Undelivered",
            enforce_ssl=True,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            retention_period=Duration.days(14),
        )
        events.Rule(
            self,
            "OnUnfinished",
            event_pattern=events.EventPattern(
                source=["aws.states"],
                detail_type=["Step Functions Execution Status Change"],
                detail={
                    "stateMachineArn": [train.state_machine_arn],
                    "status": ["FAILED", "TIMED_OUT", "ABORTED"],
                },
            ),
            targets=[
                targets.SfnStateMachine(
                    teardown,
                    input=events.RuleTargetInput.from_object(
                        {
                            "execution_arn": events.EventField.from_path("$.detail.executionArn"),
                            "asked_by": AskedBy.RESCUE,
                        }
                    ),
                    dead_letter_queue=self.undelivered,
                )
            ],
        )


class Interruption(Construct):
    """Two minutes before a Spot instance goes, its task is asked to stop: enough time to save."""

    def __init__(self, scope: Construct, id: str, *, function: lambda_.IFunction) -> None:
        super().__init__(scope, id)
        events.Rule(
            self,
            "OnSpotWarning",
            event_pattern=events.EventPattern(
                source=["aws.ec2"], detail_type=["EC2 Spot Instance Interruption Warning"]
            ),
            targets=[targets.LambdaFunction(function)],
        )


class Sweep(Construct):
    """Events can be lost. What no teardown was started for is found by looking at what is there and costs money."""

    def __init__(self, scope: Construct, id: str, *, function: lambda_.IFunction) -> None:
        super().__init__(scope, id)
        function.configure_async_invoke(retry_attempts=0)
        events.Rule(
            self,
            "EachFewMinutes",
            schedule=events.Schedule.rate(Duration.minutes(5)),
            targets=[targets.LambdaFunction(function, retry_attempts=0)],
        )


class Reread(Construct):
    """Each day: a part of what was proven is read again. `enabled`: a deployment may do without."""

    def __init__(self, scope: Construct, id: str, *, function: lambda_.IFunction, enabled: bool) -> None:
        super().__init__(scope, id)
        # A round that failed half-way has used up a part of the day's bytes: the next day is the retry.
        function.configure_async_invoke(retry_attempts=0)
        events.Rule(
            self,
            "EachDay",
            enabled=enabled,
            schedule=events.Schedule.rate(Duration.days(1)),
            targets=[targets.LambdaFunction(function, retry_attempts=0)],
        )
