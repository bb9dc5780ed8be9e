"""Where a person hears of what needs one: a topic, encrypted, that only this account's services write to."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct


class Notices(Construct):
    def __init__(self, scope: Construct, id: str, *, email: str | None) -> None:
        super().__init__(scope, id)
        self.topic = sns.Topic(self, "Topic", enforce_ssl=True)
        # A policy of its own replaces the topic's default one: alarms of this account must be let in by name.
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                actions=["sns:Publish"],
                resources=[self.topic.topic_arn],
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        if email:
            self.topic.add_subscription(subscriptions.EmailSubscription(email))
