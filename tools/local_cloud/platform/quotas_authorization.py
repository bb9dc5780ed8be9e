"""The IAM checks of Service Quotas, from the Service Authorization Reference."""

from __future__ import annotations

from tools.local_cloud.platform.authorization import Check, Request
from tools.local_cloud.services.quotas import arn


def quotas_checks(action: str, request: Request) -> list[Check]:
    """One quota is a resource; a list of them is not."""
    name = f"servicequotas:{action}"
    if "QuotaCode" in request:
        return [Check(name, arn(str(request.get("ServiceCode")), str(request["QuotaCode"])))]
    return [Check(name, "*")]
