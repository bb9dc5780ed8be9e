"""Questions to the logs that are asked again and again, saved under the deployment's name in Logs Insights."""

from collections.abc import Sequence

from aws_cdk import aws_logs as logs
from constructs import Construct


def queries(
    scope: Construct, *, deployment: str, trainer_log: logs.ILogGroup, function_logs: Sequence[logs.ILogGroup]
) -> None:
    def save(id: str, name: str, groups: Sequence[logs.ILogGroup], query: logs.QueryString) -> None:
        logs.QueryDefinition(
            scope, id, query_definition_name=f"{deployment}/{name}", query_string=query, log_groups=list(groups)
        )

    save(
        "TimeLine",
        "What a run said (put its id in)",
        [trainer_log],
        logs.QueryString(
            fields=["@timestamp", "attempt", "kind", "step", "@message"],
            filter_statements=["run = 'RUN'", "kind != 'step'"],
            sort="@timestamp asc",
            limit=1000,
        ),
    )
    save(
        "LongestStalls",
        "Saves that training waited longest for",
        [trainer_log],
        logs.QueryString(
            fields=["@timestamp", "job", "run", "step", "stall_seconds", "durable_seconds", "bytes"],
            filter_statements=["kind = 'saved'"],
            sort="stall_seconds desc",
            limit=50,
        ),
    )
    save(
        "PassedOver",
        "Checkpoints that were not whole",
        [trainer_log],
        logs.QueryString(
            fields=["@timestamp", "job", "run", "attempt", "@message"],
            filter_statements=["kind = 'passed_over'"],
            sort="@timestamp desc",
            limit=200,
        ),
    )
    save(
        "Trouble",
        "What functions complained of",
        function_logs,
        logs.QueryString(
            fields=["@timestamp", "service", "run", "level", "message", "exception_name"],
            filter_statements=["level in ['WARNING', 'ERROR', 'CRITICAL']"],
            sort="@timestamp desc",
            limit=200,
        ),
    )
