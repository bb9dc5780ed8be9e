"""What works beside the flow: rescue, pump, logs, and the topic for notices."""

import pytest
from aws_cdk import App, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk.assertions import Template

from stacks.safety import Reread
from tools.definitions.grants import grants_at_resources
from tools.definitions.templates import Assembly


def test_every_end_that_runs_nothing_more_starts_a_teardown(assembly: Assembly) -> None:
    rule = assembly.at("Rescue/OnUnfinished").properties
    assert rule["State"] == "ENABLED"
    assert rule["EventPattern"] == {
        "source": ["aws.states"],
        "detail-type": ["Step Functions Execution Status Change"],
        "detail": {
            "stateMachineArn": ["arn:aws:states:us-east-1:123456789012:stateMachine:belay-train"],
            "status": ["FAILED", "TIMED_OUT", "ABORTED"],
        },
    }


def test_a_teardown_gets_the_execution_and_the_name_of_who_started_it(assembly: Assembly) -> None:
    [target] = assembly.at("Rescue/OnUnfinished").properties["Targets"]
    assert target["Arn"].endswith("stateMachine:belay-teardown")
    assert target["InputTransformer"]["InputTemplate"] == (
        '{"execution_arn":<detail-executionArn>,"asked_by":"the rescue"}'
    )


def test_a_rescue_that_could_not_start_is_kept_in_a_queue(assembly: Assembly) -> None:
    queue = assembly.at("Rescue/Undelivered").path
    [target] = assembly.at("Rescue/OnUnfinished").properties["Targets"]
    assert target["DeadLetterConfig"]["Arn"].endswith(queue.replace("/", "-"))


def test_an_alarm_may_publish_to_the_topic(assembly: Assembly) -> None:
    at_topic = [
        grant for grant in grants_at_resources(assembly) if grant.holder.startswith("BelayTraining/Notices/Topic")
    ]
    assert [
        g
        for g in at_topic
        if g.effect == "Allow" and "cloudwatch.amazonaws.com" in g.holder and g.action == "sns:Publish"
    ]


def test_the_notice_address_is_subscribed_and_no_other(existing: Assembly, assembly: Assembly) -> None:
    [subscription] = existing.of_type("AWS::SNS::Subscription")
    assert (subscription.properties["Protocol"], subscription.properties["Endpoint"]) == (
        "email",
        "someone@example.com",
    )
    assert assembly.of_type("AWS::SNS::Subscription") == []


def test_a_spot_warning_calls_the_function_that_stops_the_task(assembly: Assembly) -> None:
    rule = assembly.at("Interruption/OnSpotWarning", "AWS::Events::Rule").properties
    assert rule["State"] == "ENABLED"
    assert rule["EventPattern"] == {
        "source": ["aws.ec2"],
        "detail-type": ["EC2 Spot Instance Interruption Warning"],
    }
    [target] = rule["Targets"]
    assert target["Arn"].endswith("function:belay-interrupt")


def test_the_pump_runs_every_minute(assembly: Assembly) -> None:
    rule = assembly.at("Pump/EachMinute", "AWS::Events::Rule").properties
    assert (rule["ScheduleExpression"], rule["State"]) == ("rate(1 minute)", "ENABLED")
    assert [target["Arn"] for target in rule["Targets"]] == [
        "arn:aws:lambda:us-east-1:123456789012:function:belay-pump"
    ]


@pytest.mark.parametrize(("enabled", "state"), [(True, "ENABLED"), (False, "DISABLED")])
def test_reading_proven_checkpoints_again_can_be_turned_off(enabled: bool, state: str) -> None:
    stack = Stack(App(), "Alone")
    code = lambda_.Code.from_inline("def handler(event, context): pass")
    function = lambda_.Function(
        stack, "Function", code=code, handler="index.handler", runtime=lambda_.Runtime.PYTHON_3_14
    )
    Reread(stack, "Reread", function=function, enabled=enabled)
    [rule] = Template.from_stack(stack).find_resources("AWS::Events::Rule").values()
    assert (rule["Properties"]["State"], rule["Properties"]["ScheduleExpression"]) == (state, "rate(1 day)")


def test_every_log_is_kept_for_a_time_and_not_for_ever(assembly: Assembly, private: Assembly) -> None:
    for deployed in (assembly, private):
        for log in deployed.of_type("AWS::Logs::LogGroup"):
            assert log.properties["RetentionInDays"] > 0, log.path


def test_logs_are_kept_as_long_as_the_setting_says(existing: Assembly) -> None:
    assert {log.properties["RetentionInDays"] for log in existing.of_type("AWS::Logs::LogGroup")} == {365}


@pytest.mark.parametrize("machine", ["Train", "Teardown"])
def test_both_machines_log_every_event(assembly: Assembly, machine: str) -> None:
    properties = assembly.at(f"{machine}/Machine", "AWS::StepFunctions::StateMachine").properties
    assert properties["LoggingConfiguration"]["Level"] == "ALL"
    assert properties["TracingConfiguration"] == {"Enabled": True}
