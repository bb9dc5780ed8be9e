"""Service Quotas: what the account may have of EC2 and FSx at once, and asking for more."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tools.local_cloud.clock import Clock
from tools.local_cloud.faults import FaultRegistry, QuotaIs
from tools.local_cloud.services.errors import AwsError
from tools.local_cloud.services.paging import page
from tools.local_cloud.settings import ACCOUNT, REGION


@dataclass(frozen=True)
class Quota:
    name: str
    value: float
    """Of an account that has asked for GPUs."""
    new_account: float
    """AWS's default value."""


# Names, codes and defaults: AWS General Reference, "Amazon EC2 instance type quotas" and "Amazon FSx endpoints and
# quotas". What is not here, the account does not have.
EC2 = {
    "L-DB2E81BA": Quota("Running On-Demand G and VT instances", 64, 0),
    "L-3819A6DF": Quota("All G and VT Spot Instance Requests", 64, 0),
    "L-417A185B": Quota("Running On-Demand P instances", 384, 0),
    "L-7212CCBC": Quota("All P4, P3 and P2 Spot Instance Requests", 192, 0),
    "L-C4BD4855": Quota("All P5 Spot Instance Requests", 384, 0),
    "L-1216C47A": Quota("Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances", 64, 5),
    "L-34B43A08": Quota("All Standard (A, C, D, H, I, M, R, T, Z) Spot Instance Requests", 64, 5),
}
SCRATCH_FILE_SYSTEMS, SCRATCH_STORAGE_GIB = "L-C48231E5", "L-AD2FC696"
FSX = {
    SCRATCH_FILE_SYSTEMS: Quota("Lustre Scratch file systems", 100, 100),
    SCRATCH_STORAGE_GIB: Quota("Lustre Scratch storage capacity", 100_800, 100_800),
    "L-8F1B9C74": Quota("Lustre Persistent_2 storage capacity", 100_800, 100_800),
}
# AWS grants small requests by itself, "larger requests" a person looks at (Service Quotas guide, "Requesting a quota
# increase"). How long either takes is not said [?].
GRANTED_AFTER_SECONDS = 900
SERVICES = {"ec2": ("Amazon Elastic Compute Cloud (Amazon EC2)", EC2), "fsx": ("Amazon FSx", FSX)}


def arn(service: str, code: str) -> str:
    return f"arn:aws:servicequotas:{REGION}:{ACCOUNT}:{service}/{code}"


class Quotas:
    target_prefix = "ServiceQuotasV20190624"

    def __init__(self, faults: FaultRegistry, clock: Clock, *, new_account: bool = False) -> None:
        self._faults, self._clock = faults, clock
        self._values = {code: one.new_account if new_account else one.value for code, one in {**EC2, **FSX}.items()}
        self._asked_for: dict[str, float] = {}

    @property
    def operations(self) -> Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]]:
        """By the names of the API."""
        return {
            "GetServiceQuota": self._get,
            "ListServiceQuotas": self._list,
            "RequestServiceQuotaIncrease": self._ask_for_more,
        }

    def value(self, code: str) -> float:
        """Of this account."""
        changed = self._faults.find(QuotaIs, {}, when=lambda one: one.code == code)
        return float(changed.value if changed else self._values[code])

    def _get(self, request: dict[str, Any]) -> dict[str, Any]:
        service, code = request["ServiceCode"], request["QuotaCode"]
        if code not in self._of(service):
            raise _no_such_resource()
        return {"Quota": self._described(service, code)}

    def _list(self, request: dict[str, Any]) -> dict[str, Any]:
        service = request["ServiceCode"]
        shown, token = page(
            [self._described(service, code) for code in self._of(service)],
            request,
            error="InvalidPaginationTokenException",
        )
        return {"Quotas": shown, **({"NextToken": token} if token else {})}

    def _ask_for_more(self, request: dict[str, Any]) -> dict[str, Any]:
        """Each refusal is an error of the operation in botocore's model of service-quotas."""
        service, code, wanted = request["ServiceCode"], request["QuotaCode"], float(request["DesiredValue"])
        if code not in self._of(service):
            raise _no_such_resource()
        if wanted <= self.value(code):
            raise AwsError("IllegalArgumentException", "You must provide a quota value greater than the current quota.")
        if code in self._asked_for:
            raise AwsError("ResourceAlreadyExistsException", "Only one open service quota increase request is allowed.")
        self._asked_for[code] = wanted
        self._clock.after(GRANTED_AFTER_SECONDS, lambda: self._grant(code))
        described = self._described(service, code)
        named = {name: described[name] for name in ("ServiceCode", "ServiceName", "QuotaArn", "QuotaCode", "QuotaName")}
        return {"RequestedQuota": {**named, "Id": uuid.uuid4().hex, "DesiredValue": wanted, "Status": "PENDING"}}

    def _grant(self, code: str) -> None:
        self._values[code] = self._asked_for.pop(code)

    def _of(self, service: str) -> dict[str, Quota]:
        if service not in SERVICES:
            raise _no_such_resource()
        return SERVICES[service][1]

    def _described(self, service: str, code: str) -> dict[str, Any]:
        return {
            "ServiceCode": service,
            "ServiceName": SERVICES[service][0],
            "QuotaArn": arn(service, code),
            "QuotaCode": code,
            "QuotaName": self._of(service)[code].name,
            "Value": self.value(code),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
        }


def _no_such_resource() -> AwsError:
    # An error of both operations in botocore's model of service-quotas.
    return AwsError("NoSuchResourceException", "The request failed because the specified quota does not exist.")
