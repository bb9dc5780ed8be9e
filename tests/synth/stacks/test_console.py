"""What a person sees in AWS's console: alarms that say what to do, one page of figures, saved queries."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from belay.cli.main import app
from tools.definitions.templates import Assembly, Resource

REPOSITORY = Path(__file__).parents[3]
WRITTEN = re.compile(r"""(?:metrics\.add_metric\(\s*name=f?|\bMeasure\()"(\w+)""")


@pytest.fixture
def alarms(assembly: Assembly) -> dict[str, Resource]:
    return {alarm.path.rpartition("/")[2]: alarm for alarm in assembly.of_type("AWS::CloudWatch::Alarm")}


@pytest.fixture
def page(assembly: Assembly) -> dict[str, Any]:
    [dashboard] = assembly.of_type("AWS::CloudWatch::Dashboard")
    return dict(json.loads(dashboard.properties["DashboardBody"]))


def test_every_alarm_tells_the_notices(assembly: Assembly, alarms: dict[str, Resource]) -> None:
    [topic] = assembly.of_type("AWS::SNS::Topic")
    told = f"arn:aws:sns:us-east-1:123456789012:{topic.path.replace('/', '-')}"
    assert alarms
    for name, alarm in alarms.items():
        assert alarm.properties["AlarmActions"] == [told], name


def test_operations_says_of_every_alarm_what_it_means_and_what_to_do(alarms: dict[str, Resource]) -> None:
    chapters = (REPOSITORY / "docs/operations.md").read_text().split("\n## ")
    for name, alarm in alarms.items():
        assert f"docs/operations.md, {name}." in alarm.properties["AlarmDescription"]
        found = [chapter for chapter in chapters if f"`{name}`" in chapter]
        assert found, f"docs/operations.md has nothing on {name}"
        assert any("**Means**" in chapter and "**Do**" in chapter for chapter in found), name


def test_every_alarm_names_the_next_command_and_one_that_there_is(alarms: dict[str, Resource]) -> None:
    verbs = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    for name, alarm in alarms.items():
        [verb] = re.findall(r"Next: belay (\w+)", alarm.properties["AlarmDescription"])
        assert verb in verbs, name


def test_as_long_as_a_file_system_is_kept_an_alarm_is_red(alarms: dict[str, Resource]) -> None:
    told = alarms["FileSystemsKept"].properties
    assert (told["MetricName"], told["Namespace"], told["Threshold"]) == ("KeptFileSystems", "Belay", 1)
    assert told["Dimensions"] == [{"Name": "service", "Value": "belay"}]
    # Between two sweeps nothing is measured, and nothing has changed.
    assert told["TreatMissingData"] == "ignore"


def test_a_rescue_that_could_not_start_alarms(assembly: Assembly, alarms: dict[str, Resource]) -> None:
    told = alarms["RescueUndelivered"].properties
    assert assembly.at("Rescue/Undelivered").path in str(told["Dimensions"])
    assert told["Threshold"] == 1


def test_a_warning_from_spot_that_was_not_heeded_alarms_at_once_and_a_round_that_repeats_may_fail_twice(
    alarms: dict[str, Resource],
) -> None:
    periods = {name: alarm.properties["EvaluationPeriods"] for name, alarm in alarms.items() if name.endswith("Fails")}
    assert periods == {"InterruptFails": 1, "PumpFails": 3, "SweepFails": 3, "RereadFails": 1}


def written_figures() -> set[str]:
    sources = [*(REPOSITORY / "lambdas").rglob("*.py"), *(REPOSITORY / "belay" / "policy").rglob("*.py")]
    return {name for source in sources for name in WRITTEN.findall(source.read_text())}


def test_alarms_and_dashboard_look_at_figures_that_somebody_writes(
    alarms: dict[str, Resource], page: dict[str, Any]
) -> None:
    written = written_figures()
    watched = {a.properties["MetricName"] for a in alarms.values() if a.properties.get("Namespace") == "Belay"} | {
        name for widget in page["widgets"] for name in _metrics_of_the_fleet(widget)
    }
    unwritten = {name for name in watched if not any(name.startswith(one) for one in written)}
    assert watched
    assert unwritten == set()


def test_the_dashboard_shows_every_alarm_and_every_figure_of_the_fleet(
    alarms: dict[str, Resource], page: dict[str, Any]
) -> None:
    [status] = [widget for widget in page["widgets"] if widget["type"] == "alarm"]
    assert len(status["properties"]["alarms"]) == len(alarms)
    written = written_figures()
    shown = {name for widget in page["widgets"] for name in _metrics_of_the_fleet(widget)}
    assert {name for name in written if not any(one.startswith(name) for one in shown)} == set()


def test_the_dashboard_has_a_tile_for_each_question(page: dict[str, Any]) -> None:
    shown = {name for widget in page["widgets"] for name in _metrics_of_the_fleet(widget)}
    asked = {
        "runs by outcome": {"CheckpointsVerified", "CheckpointsLost"},
        "file systems": {"LivingFileSystems", "KeptFileSystems"},
        "at-risk age": {"OldestUnverifiedSeconds"},
        "export lag": {"ExportLagSeconds"},
        "goodput": {"DurableGoodputPercent"},
        "cost": {"RunUsd"},
    }
    assert {question for question, names in asked.items() if not names <= shown} == set()
    body = json.dumps(page)
    assert "ApproximateNumberOfMessagesVisible" in body and "stall_seconds" in body and "ExecutionsTimedOut" in body


def test_what_jobs_say_of_themselves_is_found_whatever_they_are_called(page: dict[str, Any]) -> None:
    searched = re.findall(r'SEARCH\(\\?\'\{Belay,job\} MetricName=\\+"(\w+)', json.dumps(page))
    assert {"stall_seconds", "durable_seconds", "loss", "step_seconds"} == set(searched)


def test_queries_are_saved_under_the_deployments_name(assembly: Assembly) -> None:
    queries = assembly.of_type("AWS::Logs::QueryDefinition")
    assert queries
    for query in queries:
        assert query.properties["Name"].startswith("belay/")
        assert query.properties["LogGroupNames"]


def _metrics_of_the_fleet(widget: dict[str, Any]) -> list[str]:
    metrics = widget["properties"].get("metrics", [])
    return [metric[1] for metric in metrics if isinstance(metric[0], str) and metric[0] == "Belay"]
