"""The alarms. What each means, and what to do then, stands in docs/operations.md.

An alarm knows no run. Those who do write themselves: teardown, the sweep and the pump."""

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.thresholds import BUDGET_PERCENT, LATE_SECONDS
from stacks.console.measures import FIVE_MINUTES, Measures

_NOTHING_MEASURED_IS_GOOD = cloudwatch.TreatMissingData.NOT_BREACHING
_OF_LOGS = {"reread": "checkpoint"}
_NOTHING_MEASURED_IS_NO_NEWS = cloudwatch.TreatMissingData.IGNORE


class Alarms(Construct):
    """Each tells the notices; `all` is for the dashboard."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        measures: Measures,
        teardown: sfn.IStateMachine,
        undelivered: sqs.IQueue,
        looking_after: Sequence[lambda_.IFunction],
        notices: sns.ITopic,
    ) -> None:
        super().__init__(scope, id)
        self._notices = notices
        self.all: list[cloudwatch.Alarm] = []

        self._alarm(
            "FileSystemsKept",
            # A teardown tells once for each try; this stays red for as long as one is kept and paid for.
            measures.of_fleet("KeptFileSystems", "Maximum", period=Duration.minutes(15)),
            at_least=1,
            unknown=_NOTHING_MEASURED_IS_NO_NEWS,
            means="A file system is kept, and costs money, because its checkpoints are not proven.",
            then="belay kept",
        )
        self._alarm(
            "RescueUndelivered",
            undelivered.metric_approximate_number_of_messages_visible(period=FIVE_MINUTES),
            at_least=1,
            means="An ended run could not be handed to teardown: its file system may still be there.",
            then="belay sweep --dry-run",
        )
        self._alarm(
            "TeardownFailed",
            teardown.metric_failed(statistic="Sum", period=FIVE_MINUTES),
            at_least=1,
            means="A teardown did not end well. The sweep starts another; the execution says what stood in the way.",
            then="belay kept",
        )
        self._alarm(
            "OrphanFound",
            measures.of_fleet("OrphansFound", "Sum"),
            at_least=1,
            means="The sweep found a file system without a living owner, and tears it down: its event was lost.",
            then="belay ps",
        )
        self._alarm(
            "ExportLate",
            measures.of_fleet("OldestUnverifiedSeconds", "Maximum"),
            at_least=LATE_SECONDS,
            for_periods=3,
            means="A checkpoint was saved an hour ago and is not proven in S3, while its training goes on.",
            then="belay ps",
        )
        self._alarm(
            "BudgetAlmostSpent",
            measures.of_fleet("BudgetSpentPercent", "Maximum"),
            at_least=BUDGET_PERCENT,
            means=f"A run has spent {BUDGET_PERCENT} % of its limits.budget_usd; before its end it saves and stops.",
            then="belay ps",
        )
        self._alarm(
            "CheckpointDamaged",
            # Measured once a day: red until a round finds it restored or removed.
            measures.of_fleet("DamagedCheckpoints", "Maximum"),
            at_least=1,
            unknown=_NOTHING_MEASURED_IS_NO_NEWS,
            means="A checkpoint that was proven was read again in S3, and is damaged.",
            then="belay ps",
        )
        for function in looking_after:
            name = function.node.id
            self._alarm(
                f"{name.capitalize()}Fails",
                function.metric_errors(period=FIVE_MINUTES, statistic="Sum"),
                at_least=1,
                # A round that fails is followed by another one. Of what does not come again soon, one is enough.
                for_periods=1 if name in ("interrupt", "reread") else 3,
                means=f"The function {name} fails; its log names the {_OF_LOGS.get(name, 'file system or the task')}.",
                then="belay doctor",
            )

    def _alarm(
        self,
        id: str,
        metric: cloudwatch.IMetric,
        *,
        at_least: float,
        means: str,
        then: str,
        for_periods: int = 1,
        unknown: cloudwatch.TreatMissingData = _NOTHING_MEASURED_IS_GOOD,
    ) -> None:
        alarm = cloudwatch.Alarm(
            self,
            id,
            metric=metric,
            threshold=at_least,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            evaluation_periods=for_periods,
            treat_missing_data=unknown,
            alarm_description=f"{means} Next: {then}. What to do: docs/operations.md, {id}.",
        )
        alarm.add_alarm_action(actions.SnsAction(self._notices))
        self.all.append(alarm)
