"""Do the account's quotas leave room for a run: for its file system, and for its instance?"""

from belay.aws.deployment import Clients
from belay.aws.instances import quota_of, size_of
from belay.cli.findings import Finding
from belay.policy.fitting import ask_for_more, market

_SMALLEST_FILE_SYSTEM_GIB = 1200


def fsx(made: Clients) -> Finding:
    """By their names, "Lustre Scratch file systems" and "Lustre Scratch storage capacity" (GiB, all together)."""
    pages = made("service-quotas").get_paginator("list_service_quotas").paginate(ServiceCode="fsx")
    quotas = [quota for page in pages for quota in page["Quotas"] if "lustre" in quota["QuotaName"].lower()]
    scratch = {quota["QuotaName"]: quota["Value"] for quota in quotas if "scratch" in quota["QuotaName"].lower()}
    if not scratch:
        return Finding("FSx quotas", "unknown", "Service Quotas names none for scratch file systems")
    text = "; ".join(f"{name}: {value:,.0f}" for name, value in scratch.items())
    short = [name for name, value in scratch.items() if value < _least(name)]
    if short:
        return Finding("FSx quotas", "wrong", f"{text}; ask for more of {' and '.join(short)} in Service Quotas")
    return Finding("FSx quotas", "ok", text)


def _least(name: str) -> int:
    return _SMALLEST_FILE_SYSTEM_GIB if "capacity" in name.lower() else 1


def vcpus(made: Clients, *, instance_type: str, spot: bool) -> Finding:
    """One instance at least must fit in; ECS asks for two if none runs."""
    what = f"vCPUs {market(spot=spot)}"
    quota = quota_of(made, instance_type, spot=spot)
    if quota is None:
        return Finding(what, "unknown", f"which quota {instance_type} counts for is not known here; see Service Quotas")
    size = size_of(made, instance_type)
    text = f"'{quota.name}' is {quota.vcpus:.0f}, {instance_type} has {size.vcpus}"
    if quota.vcpus < size.vcpus:
        return Finding(what, "wrong", f"{text}; {ask_for_more(size, quota)}")
    if quota.vcpus < 2 * size.vcpus:
        text += (
            "; room for one. If none runs, ECS asks for two: that EC2 refuses the second costs nothing, and shows in"
            f" the activity of the Auto Scaling group. To have both, {ask_for_more(size, quota)}"
        )
    return Finding(what, "ok", text)
