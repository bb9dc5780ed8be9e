"""DescribeInstanceTypes with EC2's own answers; ministack invents sizes."""

from __future__ import annotations

from functools import cache
from typing import Any
from xml.sax.saxutils import escape

import botocore.session
from botocore.model import ListShape, Shape, StructureShape

from tools.local_cloud import engines
from tools.local_cloud.instance_types import known

MODULE = "ministack.services.ec2"


def install() -> None:
    """Replaces ministack's operation."""
    engines.use(MODULE, "_ACTION_MAP")["DescribeInstanceTypes"] = _describe


def _describe(parameters: dict[str, Any]) -> Any:
    error = engines.use(MODULE, "_error")
    asked = engines.use(MODULE, "_parse_member_list")(parameters, "InstanceType")
    if not asked:
        return error("NotImplemented", "ec2:DescribeInstanceTypes without InstanceTypes is not built in", 501)
    unknown = [name for name in asked if name not in known()]
    if unknown:
        # Code and text as EC2 gives them: github.com/scylladb/scylla-cluster-tests/issues/12419.
        what = f"The following supplied instance types do not exist: [{', '.join(unknown)}]"
        return error("InvalidInstanceType", what, 400)
    listed = _xml(_shape().members["InstanceTypes"], [known()[name] for name in asked])
    return engines.use(MODULE, "_xml")(
        200, "DescribeInstanceTypesResponse", f"<instanceTypeSet>{listed}</instanceTypeSet>"
    )


@cache
def _shape() -> StructureShape:
    model = botocore.session.get_session().get_service_model("ec2")
    return model.operation_model("DescribeInstanceTypes").output_shape


def _xml(shape: Shape, value: Any) -> str:
    """As botocore's model of EC2 says how it is written."""
    if isinstance(shape, StructureShape):
        members = ((shape.members[name], inner) for name, inner in value.items() if name in shape.members)
        return "".join(
            f"<{one.serialization['name']}>{_xml(one, inner)}</{one.serialization['name']}>" for one, inner in members
        )
    if isinstance(shape, ListShape):
        return "".join(f"<item>{_xml(shape.member, one)}</item>" for one in value)
    return escape(str(value).lower() if isinstance(value, bool) else str(value))
