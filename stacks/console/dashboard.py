"""One page: is anything wrong, what becomes of the runs, what they are worth, what is at risk, what saves cost."""

from collections.abc import Sequence

from aws_cdk import Aws, Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_sqs as sqs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from stacks.console.measures import Measures

_WIDTH = 24
_HOUR = Duration.hours(1)


def dashboard(
    scope: Construct,
    *,
    deployment: str,
    measures: Measures,
    alarms: Sequence[cloudwatch.Alarm],
    train: sfn.IStateMachine,
    undelivered: sqs.IQueue,
) -> cloudwatch.Dashboard:
    page = cloudwatch.Dashboard(scope, "Dashboard", dashboard_name=deployment, default_interval=Duration.days(1))
    page.add_widgets(
        cloudwatch.AlarmStatusWidget(title="Does anything need a person?", alarms=list(alarms), width=_WIDTH, height=3)
    )
    page.add_widgets(
        _graph("Runs", _executions(train), width=8),
        _graph("What became of their checkpoints", _durability(measures), width=8),
        _graph("Work lost", [measures.of_fleet("WorkLostMinutes", "Sum", label="minutes", period=_HOUR)], width=8),
    )
    page.add_widgets(
        _graph(
            "Durable goodput of the runs that ended: percent of their time",
            [
                measures.of_fleet("DurableGoodputPercent", "p50", label="half of them", period=_HOUR),
                measures.of_fleet("DurableGoodputPercent", "Minimum", label="worst", period=_HOUR),
            ],
            width=12,
        ),
        _graph(
            "Cost of the runs that ended: USD at most",
            [measures.of_fleet("RunUsd", "Sum", label="in this hour", period=_HOUR)],
            width=8,
        ),
        cloudwatch.SingleValueWidget(
            title="USD in all",
            metrics=[measures.of_fleet("RunUsd", "Sum", label="of the time shown", period=_HOUR)],
            set_period_to_time_range=True,
            width=4,
            height=6,
        ),
    )
    page.add_widgets(
        _graph(
            "File systems",
            [
                measures.of_fleet("LivingFileSystems", "Maximum", label="alive"),
                measures.of_fleet("KeptFileSystems", "Maximum", label="kept"),
                measures.of_fleet("OrphansFound", "Sum", label="found by the sweep"),
                undelivered.metric_approximate_number_of_messages_visible(label="rescues undelivered"),
            ],
        ),
        _graph(
            "At risk: seconds",
            [
                measures.of_fleet(
                    "OldestUnverifiedSeconds", "Maximum", label="since the oldest save that is not proven"
                ),
                measures.of_fleet("WorkAtRiskSeconds", "Maximum", label="since the last one that is (with max_loss)"),
            ],
        ),
        _graph(
            "From saved to proven in S3: seconds",
            [
                measures.of_fleet("ExportLagSeconds", "p50", label="half of them"),
                measures.of_fleet("ExportLagSeconds", "Maximum", label="longest"),
            ],
        ),
    )
    page.add_widgets(
        _graph("Training stood still for a save: seconds", [measures.of_each_job("stall_seconds", "Maximum")]),
        _graph("From the save to the disk: seconds", [measures.of_each_job("durable_seconds", "Maximum")]),
        _graph("Budget spent: percent", [measures.of_fleet("BudgetSpentPercent", "Maximum", label="highest")]),
    )
    page.add_widgets(
        _graph("Loss", [measures.of_each_job("loss", "Average")]),
        _graph("A step: seconds", [measures.of_each_job("step_seconds", "Average")]),
        _graph(
            "Read again in S3: bytes, and checkpoints that are damaged",
            [
                measures.of_fleet("RereadBytes", "Sum", label="bytes"),
                measures.of_fleet("DamagedCheckpoints", "Maximum", label="damaged"),
            ],
        ),
    )
    return page


def dashboard_url(deployment: str) -> str:
    """Where a browser finds it."""
    home = f"https://{Aws.REGION}.console.aws.amazon.com/cloudwatch/home?region={Aws.REGION}"
    return f"{home}#dashboards/dashboard/{deployment}"


def _graph(title: str, metrics: Sequence[cloudwatch.IMetric], width: int = 8) -> cloudwatch.GraphWidget:
    return cloudwatch.GraphWidget(title=title, left=list(metrics), width=width, height=6)


def _executions(train: sfn.IStateMachine) -> list[cloudwatch.IMetric]:
    return [
        train.metric_started(label="started", statistic="Sum", period=_HOUR),
        train.metric_succeeded(label="succeeded", statistic="Sum", period=_HOUR),
        train.metric_failed(label="failed", statistic="Sum", period=_HOUR),
        train.metric_aborted(label="stopped", statistic="Sum", period=_HOUR),
        train.metric_timed_out(label="timed out", statistic="Sum", period=_HOUR),
    ]


def _durability(measures: Measures) -> list[cloudwatch.IMetric]:
    return [
        measures.of_fleet("CheckpointsVerified", "Sum", label="verified", period=_HOUR),
        measures.of_fleet("CheckpointsNothingSaved", "Sum", label="nothing saved", period=_HOUR),
        measures.of_fleet("CheckpointsKept", "Sum", label="kept", period=_HOUR),
        measures.of_fleet("CheckpointsLost", "Sum", label="lost", period=_HOUR),
    ]
