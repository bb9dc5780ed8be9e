"""CloudFormation types that ministack does not know and a normal stack needs, made through the public APIs."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Collection
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.clients import Clients

Properties = dict[str, Any]
Made = tuple[str, dict[str, Any]]  # physical id, attributes
Handlers = dict[str, Callable[..., Any]]
AMI_ID = "ami-0c2023a1b2c3d4e5f"
# Attributes that are the property of the same name, and that ministack leaves out.
MISSING_ATTRIBUTES = {"AWS::EC2::VPC": ("CidrBlock",), "AWS::EC2::Subnet": ("CidrBlock", "VpcId")}


def install(clients: Clients) -> None:
    """Adds the missing types to ministack. A type that is still unknown is refused by name before anything is made."""
    known = engines.use("ministack.services.cloudformation.provisioners", "_RESOURCE_HANDLERS")
    ours: dict[str, Handlers] = {
        "AWS::EC2::EIP": _elastic_ip(clients),
        "AWS::EC2::NatGateway": _nat_gateway(clients),
        "AWS::EC2::FlowLog": _flow_log(clients),
        "AWS::EC2::SecurityGroupIngress": _rule(clients, "ingress", "Source"),
        "AWS::EC2::SecurityGroupEgress": _rule(clients, "egress", "Destination"),
        "AWS::ECS::CapacityProvider": _capacity_provider(clients),
        "AWS::ECS::ClusterCapacityProviderAssociations": _cluster_providers(clients),
        "AWS::Logs::QueryDefinition": _saved_query(),
    }
    for handlers in ours.values():
        handlers.setdefault("update", _replacing(handlers))
    known.update(ours)
    _make_on_threads(ours)
    for kind, attributes in MISSING_ATTRIBUTES.items():
        for verb in ("create", "update"):
            position = 1 if verb == "create" else 2
            known[kind][verb] = _with_attributes(known[kind][verb], attributes, properties_at=position)
    parameters = engines.use("ministack.services.ssm", "_PUBLIC_AMI_PARAMETERS")
    for hardware in ("", "/gpu", "/arm64", "/neuron"):
        name = f"/aws/service/ecs/optimized-ami/amazon-linux-2023{hardware}/recommended"
        parameters[f"{name}/image_id"] = AMI_ID
        parameters[name] = json.dumps({"image_id": AMI_ID})


def _make_on_threads(ours: Collection[str]) -> None:
    """Our handlers call this same server: on its event loop they would wait for themselves."""
    module = "ministack.services.cloudformation.stacks"
    on_thread = engines.use(module, "_runs_on_worker_thread")
    engines.replace(module, "_runs_on_worker_thread", lambda kind: kind in ours or on_thread(kind))


def _replacing(handlers: Handlers) -> Callable[..., Made]:
    def update(physical_id: str, old: Properties, new: Properties, stack: str, *_rest: Any) -> Made:
        made: Made = handlers["create"](physical_id, new, stack)
        handlers["delete"](physical_id, old)
        return made

    return update


def _with_attributes(make: Callable[..., Made], names: tuple[str, ...], *, properties_at: int) -> Callable[..., Made]:
    def made(*arguments: Any, **options: Any) -> Made:
        physical_id, attributes = make(*arguments, **options)
        properties = arguments[properties_at]
        attributes.update((name, properties[name]) for name in names if name in properties)
        return physical_id, attributes

    return made


def _elastic_ip(clients: Clients) -> Handlers:
    def create(_logical_id: str, _properties: Properties, _stack: str) -> Made:
        made = clients.get("ec2").allocate_address(Domain="vpc")
        return made["PublicIp"], {"AllocationId": made["AllocationId"], "PublicIp": made["PublicIp"]}

    def delete(physical_id: str, _properties: Properties) -> None:
        ec2 = clients.get("ec2")
        for address in ec2.describe_addresses()["Addresses"]:
            if address["PublicIp"] == physical_id:
                ec2.release_address(AllocationId=address["AllocationId"])

    return {"create": create, "delete": delete}


def _nat_gateway(clients: Clients) -> Handlers:
    def create(_logical_id: str, properties: Properties, _stack: str) -> Made:
        asked = {name: properties[name] for name in ("SubnetId", "AllocationId") if name in properties}
        name = clients.get("ec2").create_nat_gateway(**asked)["NatGateway"]["NatGatewayId"]
        return name, {"NatGatewayId": name}

    def delete(physical_id: str, _properties: Properties) -> None:
        clients.get("ec2").delete_nat_gateway(NatGatewayId=physical_id)

    return {"create": create, "delete": delete}


def _flow_log(clients: Clients) -> Handlers:
    known = ("ResourceType", "TrafficType", "LogDestinationType", "LogDestination", "LogGroupName")

    def create(_logical_id: str, properties: Properties, _stack: str) -> Made:
        asked = {name: properties[name] for name in known if name in properties}
        made = clients.get("ec2").create_flow_logs(ResourceIds=[properties["ResourceId"]], **asked)
        return made["FlowLogIds"][0], {"Id": made["FlowLogIds"][0]}

    def delete(physical_id: str, _properties: Properties) -> None:
        clients.get("ec2").delete_flow_logs(FlowLogIds=[physical_id])

    return {"create": create, "delete": delete}


def _rule(clients: Clients, direction: str, other: str) -> Handlers:
    def create(_logical_id: str, properties: Properties, _stack: str) -> Made:
        authorize = getattr(clients.get("ec2"), f"authorize_security_group_{direction}")
        authorize(GroupId=properties["GroupId"], IpPermissions=[_permission(properties, other)])
        return f"sgr-{uuid.uuid4().hex[:17]}", {}

    def delete(_physical_id: str, properties: Properties) -> None:
        revoke = getattr(clients.get("ec2"), f"revoke_security_group_{direction}")
        revoke(GroupId=properties["GroupId"], IpPermissions=[_permission(properties, other)])

    return {"create": create, "delete": delete}


def _permission(properties: Properties, other: str) -> dict[str, Any]:
    asked: dict[str, Any] = {"IpProtocol": str(properties["IpProtocol"])}
    asked |= {name: int(properties[name]) for name in ("FromPort", "ToPort") if name in properties}
    described = {"Description": properties["Description"]} if "Description" in properties else {}
    if group := properties.get(f"{other}SecurityGroupId"):
        asked["UserIdGroupPairs"] = [{"GroupId": group, **described}]
    if prefixes := properties.get(f"{other}PrefixListId"):
        asked["PrefixListIds"] = [{"PrefixListId": prefixes, **described}]
    if "CidrIp" in properties:
        asked["IpRanges"] = [{"CidrIp": properties["CidrIp"], **described}]
    if "CidrIpv6" in properties:
        asked["Ipv6Ranges"] = [{"CidrIpv6": properties["CidrIpv6"], **described}]
    return asked


def _capacity_provider(clients: Clients) -> Handlers:
    def create(logical_id: str, properties: Properties, stack: str) -> Made:
        name = properties.get("Name") or f"{stack}-{logical_id}-{uuid.uuid4().hex[:8]}"
        provider = _camel(properties["AutoScalingGroupProvider"])
        clients.get("ecs").create_capacity_provider(name=name, autoScalingGroupProvider=provider)
        return name, {}

    def delete(physical_id: str, _properties: Properties) -> None:
        clients.get("ecs").delete_capacity_provider(capacityProvider=physical_id)

    return {"create": create, "delete": delete}


def _cluster_providers(clients: Clients) -> Handlers:
    def create(_logical_id: str, properties: Properties, _stack: str) -> Made:
        clients.get("ecs").put_cluster_capacity_providers(
            cluster=properties["Cluster"],
            capacityProviders=properties["CapacityProviders"],
            defaultCapacityProviderStrategy=_camel(properties.get("DefaultCapacityProviderStrategy", [])),
        )
        return properties["Cluster"], {}

    def update(physical_id: str, _old: Properties, new: Properties, stack: str, *_rest: Any) -> Made:
        return create(physical_id, new, stack)

    def delete(physical_id: str, _properties: Properties) -> None:
        none: dict[str, Any] = {"capacityProviders": [], "defaultCapacityProviderStrategy": []}
        clients.get("ecs").put_cluster_capacity_providers(cluster=physical_id, **none)

    return {"create": create, "update": update, "delete": delete}


def _saved_query() -> Handlers:
    """A saved query of Logs Insights, which the local cloud does not have."""

    def create(_logical_id: str, _properties: Properties, _stack: str) -> Made:
        name = str(uuid.uuid4())
        return name, {"QueryDefinitionId": name}

    def update(physical_id: str, _old: Properties, _new: Properties, _stack: str, *_rest: Any) -> Made:
        return physical_id, {"QueryDefinitionId": physical_id}

    return {"create": create, "update": update, "delete": lambda _physical_id, _properties: None}


def _camel(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: _camel(inner) for key, inner in value.items()}
    return [_camel(inner) for inner in value] if isinstance(value, list) else value
