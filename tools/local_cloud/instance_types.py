"""EC2's own answers about each instance type, of which moto keeps a copy."""

from __future__ import annotations

from functools import cache
from typing import Any

from tools.local_cloud import engines


@cache
def known() -> dict[str, Any]:
    """By the name of the type, as DescribeInstanceTypes describes it."""
    types: dict[str, Any] = engines.use("moto.utilities.utils", "load_resource")("ec2/resources/instance_types.json")
    return types
