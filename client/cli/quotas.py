"""Do the account's quotas leave room for a run: for its file system, and for its instance?"""

import re
from typing import Any

from client.cli.findings import Finding
from client.deployment import Clients

# vCPUs of running instances, by the first letters of their type. The names stand in AWS's guide of EC2, under
# "On-Demand Instance quotas" and "Spot Instance quotas"; the codes in the addresses of the console, as in
# .../servicequotas/home/services/ec2/quotas/L-DB2E81BA. AWS was not asked here: what is printed is the name that it
# answers with, so that a wrong code would show. Where P5 on Spot has a quota of its own, ours is that of P4, P3 and P2.
_GPU_QUOTAS = {
    "g": {"on demand": "L-DB2E81BA", "Spot": "L-3819A6DF"},
    "gr": {"on demand": "L-DB2E81BA", "Spot": "L-3819A6DF"},
    "vt": {"on demand": "L-DB2E81BA", "Spot": "L-3819A6DF"},
    "p": {"on demand": "L-417A185B", "Spot": "L-7212CCBC"},
}


def fsx(made: Clients) -> Finding:
    """By their names, "Lustre Scratch file systems" and "Lustre Scratch storage capacity" (GiB, all together)."""
    pages = made("service-quotas").get_paginator("list_service_quotas").paginate(ServiceCode="fsx")
    quotas = [quota for page in pages for quota in page["Quotas"] if "lustre" in quota["QuotaName"].lower()]
    scratch = [quota for quota in quotas if "scratch" in quota["QuotaName"].lower()]
    if not scratch:
        return Finding("FSx quotas", "unknown", "Service Quotas names none for scratch file systems")
    text = "; ".join(f"{quota['QuotaName']}: {quota['Value']:,.0f}" for quota in scratch)
    return Finding("FSx quotas", "ok" if all(quota["Value"] > 0 for quota in scratch) else "wrong", text)


def gpu(made: Clients, market: str, *, instance_type: str) -> Finding:
    """One instance at least must fit in."""
    what = f"GPU vCPUs {market}"
    family = re.match("[a-z]*", instance_type)
    codes = _GPU_QUOTAS.get(family[0] if family else "")
    if codes is None:
        return Finding(what, "unknown", f"which quota {instance_type} counts for is not known here; see Service Quotas")
    quota = made("service-quotas").get_service_quota(ServiceCode="ec2", QuotaCode=codes[market])["Quota"]
    needed = _vcpus(made, instance_type)
    if quota["Value"] < needed:
        mend = f"ask for more in Service Quotas (code {codes[market]})"
        return Finding(
            what, "wrong", f"{quota['QuotaName']} is {quota['Value']:.0f}, {instance_type} has {needed}; {mend}"
        )
    return Finding(what, "ok", f"{quota['Value']:.0f} ({quota['QuotaName']}); {instance_type} has {needed}")


def _vcpus(made: Clients, instance_type: str) -> int:
    found: list[dict[str, Any]] = made("ec2").describe_instance_types(InstanceTypes=[instance_type])["InstanceTypes"]
    return int(found[0]["VCpuInfo"]["DefaultVCpus"])
