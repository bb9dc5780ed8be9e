"""CloudFormation types that ministack does not know and a normal stack needs."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable
from typing import Any

from local_cloud import engines

Properties = dict[str, Any]
Made = tuple[str, dict[str, Any]]  # physical id, attributes
Handlers = dict[str, Callable[..., Any]]
EC2, ECS = "ministack.services.ec2", "ministack.services.ecs"
GPU_AMI = "/aws/service/ecs/optimized-ami/amazon-linux-2023/gpu/recommended"
AMI_ID = "ami-0c2023a1b2c3d4e5f"

# Attributes that are the property of the same name, and that ministack leaves out.
MISSING_ATTRIBUTES = {"AWS::EC2::VPC": ("CidrBlock",), "AWS::EC2::Subnet": ("CidrBlock", "VpcId")}


def install() -> None:
    """Teaches ministack the missing types. A type that neither knows is refused by name before anything is made."""
    known = engines.use("ministack.services.cloudformation.provisioners", "_RESOURCE_HANDLERS")
    ours: dict[str, Handlers] = {
        "AWS::EC2::EIP": {"create": _elastic_ip, "delete": _nothing},
        "AWS::EC2::NatGateway": {"create": _nat_gateway, "delete": _nothing},
        "AWS::EC2::SecurityGroupIngress": _rule("IpPermissions"),
        "AWS::EC2::SecurityGroupEgress": _rule("IpPermissionsEgress"),
        "AWS::ECS::CapacityProvider": {"create": _capacity_provider, "delete": _drop_capacity_provider},
        "AWS::ECS::ClusterCapacityProviderAssociations": {
            "create": _cluster_providers,
            "update": _update_cluster_providers,
            "delete": _nothing,
        },
    }
    known.update(ours)
    for kind, attributes in MISSING_ATTRIBUTES.items():
        for verb in ("create", "update"):
            position = 1 if verb == "create" else 2
            known[kind][verb] = _with_attributes(known[kind][verb], attributes, properties_at=position)
    parameters = engines.use("ministack.services.ssm", "_PUBLIC_AMI_PARAMETERS")
    for hardware in ("", "/gpu", "/arm64", "/neuron"):
        name = f"/aws/service/ecs/optimized-ami/amazon-linux-2023{hardware}/recommended"
        parameters[f"{name}/image_id"] = AMI_ID
        parameters[name] = json.dumps({"image_id": AMI_ID})


def _with_attributes(make: Callable[..., Made], names: tuple[str, ...], *, properties_at: int) -> Callable[..., Made]:
    def made(*arguments: Any, **options: Any) -> Made:
        physical_id, attributes = make(*arguments, **options)
        properties = arguments[properties_at]
        attributes.update((name, properties[name]) for name in names if name in properties)
        return physical_id, attributes

    return made


def _elastic_ip(_logical_id: str, properties: Properties, _stack: str) -> Made:
    answer = _text(engines.use(EC2, "_allocate_address")({"Domain": ["vpc"]}))
    address = _between(answer, "publicIp")
    return address, {"AllocationId": _between(answer, "allocationId"), "PublicIp": address}


def _nat_gateway(_logical_id: str, properties: Properties, _stack: str) -> Made:
    asked = {"SubnetId": [properties["SubnetId"]], "AllocationId": [properties.get("AllocationId", "")]}
    name = _between(_text(engines.use(EC2, "_create_nat_gateway")(asked)), "natGatewayId")
    return name, {"NatGatewayId": name}


def _flow_log(_logical_id: str, properties: Properties, _stack: str) -> Made:
    asked = {name: [properties[name]] for name in ("ResourceType", "TrafficType") if name in properties}
    answer = engines.use(EC2, "_create_flow_logs")({**asked, "ResourceId.1": [properties["ResourceId"]]})
    name = _between(_text(answer), "item")
    return name, {"Id": name}


def _drop_flow_log(physical_id: str, _properties: Properties) -> None:
    engines.use(EC2, "_delete_flow_logs")({"FlowLogId.1": [physical_id]})


def _rule(direction: str) -> Handlers:
    groups = engines.use(EC2, "_security_groups")
    parse = engines.use("ministack.services.cloudformation.provisioners", "_ec2_sg_permissions")

    def create(_logical_id: str, properties: Properties, _stack: str) -> Made:
        groups[properties["GroupId"]][direction].extend(parse([properties]))
        return f"sgr-{uuid.uuid4().hex[:17]}", {}

    def delete(_physical_id: str, properties: Properties) -> None:
        group = groups.get(properties["GroupId"])
        for rule in parse([properties]):
            if group and rule in group[direction]:
                group[direction].remove(rule)

    return {"create": create, "delete": delete}


def _capacity_provider(logical_id: str, properties: Properties, stack: str) -> Made:
    name = properties.get("Name") or f"{stack}-{logical_id}-{uuid.uuid4().hex[:8]}"
    provider = _camel(properties["AutoScalingGroupProvider"])
    _accepted(engines.use(ECS, "_create_capacity_provider")({"name": name, "autoScalingGroupProvider": provider}))
    return name, {}


def _drop_capacity_provider(physical_id: str, _properties: Properties) -> None:
    engines.use(ECS, "_delete_capacity_provider")({"capacityProvider": physical_id})


def _cluster_providers(_logical_id: str, properties: Properties, _stack: str) -> Made:
    asked = {
        "cluster": properties["Cluster"],
        "capacityProviders": properties["CapacityProviders"],
        "defaultCapacityProviderStrategy": _camel(properties.get("DefaultCapacityProviderStrategy", [])),
    }
    _accepted(engines.use(ECS, "_put_cluster_capacity_providers")(asked))
    return properties["Cluster"], {}


def _update_cluster_providers(physical_id: str, _old: Properties, new: Properties, stack: str, *_rest: Any) -> Made:
    return _cluster_providers(physical_id, new, stack)


def _nothing(_physical_id: str, _properties: Properties) -> None:
    """Goes with its VPC or its cluster."""


def _accepted(answer: tuple[int, Any, bytes]) -> None:
    status, _headers, body = answer
    if status >= 400:
        raise ValueError(json.loads(body)["message"])


def _text(answer: tuple[int, Any, Any]) -> str:
    body = answer[2]
    return body.decode() if isinstance(body, bytes) else str(body)


def _between(xml: str, tag: str) -> str:
    found = re.search(f"<{tag}>([^<]+)<", xml)
    if found is None:
        raise ValueError(f"no {tag} in the answer: {xml}")
    return found[1]


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: _camel(inner) for key, inner in value.items()}
    return [_camel(inner) for inner in value] if isinstance(value, list) else value
