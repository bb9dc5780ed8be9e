"""The app as it is, and in one of its stacks what no reviewer would let pass: `python -m` in place of app.py."""

import runpy
from typing import Any

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sqs as sqs

from stacks.data import DataStack

_made = DataStack.__init__


def _make_and_plant(stack: DataStack, *given: Any, **named: Any) -> None:
    _made(stack, *given, **named)
    s3.Bucket(stack, "InClear")
    sqs.Queue(stack, "Undelivered")
    role = iam.Role(stack, "Mighty", assumed_by=iam.AccountRootPrincipal())
    role.add_to_policy(iam.PolicyStatement(actions=["fsx:DeleteFileSystem"], resources=["*"]))
    anyone = ec2.CfnSecurityGroup.IngressProperty(ip_protocol="tcp", from_port=22, to_port=22, cidr_ip="0.0.0.0/0")
    ec2.CfnSecurityGroup(
        stack, "Open", group_description="Open", vpc_id="vpc-0123456789abcdef0", security_group_ingress=[anyone]
    )


DataStack.__init__ = _make_and_plant  # type: ignore[assignment, method-assign]
runpy.run_path("app.py", run_name="__main__")
