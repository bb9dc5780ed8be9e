"""The figures that functions and trainers write, as CloudWatch knows them."""

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

NAMESPACE = "Belay"
FIVE_MINUTES = Duration.minutes(5)


class Measures:
    """Of one deployment: its functions write theirs under its name. Trainers write theirs under the job's."""

    def __init__(self, deployment: str) -> None:
        self._deployment = deployment

    def of_fleet(
        self, name: str, statistic: str, *, label: str | None = None, period: Duration = FIVE_MINUTES
    ) -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=name,
            dimensions_map={"service": self._deployment},
            statistic=statistic,
            label=label,
            period=period,
        )

    def of_each_job(self, name: str, statistic: str) -> cloudwatch.SearchExpression:
        return cloudwatch.SearchExpression(
            expression=f"SEARCH('{{{NAMESPACE},job}} MetricName=\"{name}\"', '{statistic}', 300)",
            label="",
            period=FIVE_MINUTES,
        )
