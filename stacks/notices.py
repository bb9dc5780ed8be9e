"""Where a person hears of what needs one: a topic, encrypted, that only this account's services write to."""

from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct


class Notices(Construct):
    def __init__(self, scope: Construct, id: str, *, email: str | None) -> None:
        super().__init__(scope, id)
        self.topic = sns.Topic(self, "Topic", enforce_ssl=True)
        if email:
            self.topic.add_subscription(subscriptions.EmailSubscription(email))
