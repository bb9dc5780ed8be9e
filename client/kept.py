"""The file systems that a deployment keeps, because nothing proves that their checkpoints are in S3."""

from client.deployment import Clients
from contract import tags
from contract.kept import Kept, kept, longest_first


def listing(clients: Clients, deployment: str = "belay") -> list[Kept]:
    """The longest kept first."""
    found = []
    for page in clients("fsx").get_paginator("describe_file_systems").paginate():
        for raw in page["FileSystems"]:
            words = {tag["Key"]: tag["Value"] for tag in raw.get("Tags", [])}
            one = kept(raw["FileSystemId"], words)
            if one and words.get(tags.DEPLOYMENT) == deployment:
                found.append(one)
    return longest_first(found)


def sentence(one: Kept) -> str:
    since = f" since {one.since:%Y-%m-%d %H:%M} UTC" if one.since else ""
    price = f", {one.usd_a_day:.2f} USD a day" if one.usd_a_day is not None else ""
    return f"{one.file_system_id} of run {one.run} (job {one.job}) is kept{since}{price}: {one.why}"
