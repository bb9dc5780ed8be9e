"""The settings of a deployment, in cdk.json under "belay" or with `-c belay:<setting>=<value>`."""

import json
import os
from typing import Any, Literal, Self

from aws_cdk import aws_logs as logs
from constructs import Node
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from belay.contract.prices import Prices
from stacks.instance_types import fault_of

_RETENTION = {
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
}


class SettingsFault(Exception):
    """A setting in cdk.json or on the command line cannot be used; the message says which, and what can."""


class ExistingNetwork(BaseModel):
    """A VPC that is already there, named by its parts so that synth needs no credentials."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    vpc_id: str = Field(pattern="^vpc-[0-9a-f]+$")
    subnet_id: str = Field(pattern="^subnet-[0-9a-f]+$")
    availability_zone: str


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    deployment: str = Field(
        default="belay",
        pattern="^[a-z][a-z0-9-]{0,19}$",
        description="Names everything that is deployed; a second one in the same account needs another name.",
    )
    network: Literal["public", "private"] | ExistingNetwork = Field(
        default="public",
        description="'public': egress only, nothing to pay while idle; 'private': no internet, VPC endpoints.",
    )
    availability_zone: str | None = Field(default=None, description="Where the GPUs and the file systems are.")
    instance_type: str = Field(default="g6.xlarge", description="The EC2 type that training runs on.")
    max_instances: int = Field(default=4, ge=1, le=500, description="Of each market, on demand and spot.")
    root_volume_gib: int = Field(default=150, ge=100, le=16000)
    dataset_buckets: list[str] = Field(default=[], description="Buckets beside Belay's own that jobs may read.")
    log_retention_days: Literal[7, 30, 90, 365] = 30
    prices: Prices = Field(
        default=Prices(), description="Dollars, of your Region: for budgets, and for what a certificate says was lost."
    )
    customer_key: bool = Field(
        default=False, description="Encrypt all that is kept with a key of this deployment's own, and not with AWS's."
    )
    audit: bool = Field(default=False, description="Write down every access to the bucket, in a bucket beside it.")
    run_task_token: bool = Field(
        default=True,
        description="Start a task with a token, so that a call whose reply was lost is repeated. "
        "false, if `cdk deploy` says that Step Functions does not support ClientToken.",
    )
    deploy_over_runs: bool = Field(
        default=False, description="Deploy although runs are alive that cannot go on with this version."
    )
    reread_gib_a_day: int = Field(
        default=50,
        ge=0,
        le=1000,
        description="How much of what is proven in S3 is read again each day, and compared byte by byte. 0: nothing.",
    )
    notice_email: str | None = Field(default=None, description="Where alarms and notices go.")

    @property
    def log_retention(self) -> logs.RetentionDays:
        return _RETENTION[self.log_retention_days]

    @field_validator("log_retention_days", mode="before")
    @classmethod
    def _a_number_from_the_command_line(cls, said: object) -> object:
        return int(said) if isinstance(said, str) and said.isdecimal() else said

    @field_validator("instance_type")
    @classmethod
    def _can_run_the_image(cls, said: str) -> str:
        if fault := fault_of(said):
            raise ValueError(fault)
        return said

    @field_validator("prices", mode="before")
    @classmethod
    def _prices_from_the_command_line(cls, said: object) -> object:
        return json.loads(said) if isinstance(said, str) else said

    @model_validator(mode="after")
    def _zone_goes_with_a_new_network(self) -> Self:
        if self.availability_zone and isinstance(self.network, ExistingNetwork):
            raise ValueError("'availability_zone' belongs into 'network' when the network is an existing one")
        return self

    @classmethod
    def of(cls, node: Node) -> Self:
        """From cdk.json, with single settings replaced by `-c belay:<setting>=<value>`."""
        raw: dict[str, Any] = dict(node.try_get_context("belay") or {})
        for name in cls.model_fields:
            single = node.try_get_context(f"belay:{name}")
            if single is not None:
                raw[name] = single.split(",") if name == "dataset_buckets" else single
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            faults = [f"belay.{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
            raise SettingsFault(os.linesep.join(faults)) from None
