"""Which actions on which resources a request needs, where ministack does not know or is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.recorded_calls import CallRecorder

Request = dict[str, Any]


@dataclass(frozen=True)
class Check:
    """One question to IAM: may the caller do this to that?"""

    action: str
    resource: str
    context: dict[str, Any] = field(default_factory=dict)


Checks = Callable[[str, Request], list[Check]]  # (action without namespace, request) -> every check
_pending: ContextVar[list[Check] | None] = ContextVar("belay_pending_checks", default=None)


def install(checks: Mapping[str, Checks], *, calls: CallRecorder) -> None:
    """For these services IAM decides every check of a request; the first denial is the answer. All are recorded."""
    resource_of = engines.use("ministack.core.iam_actions", "extract_resource_arn")
    enforce = _recording(engines.use("ministack.core.iam_evaluator", "enforce"), calls)

    def extract_resource_arn(service: str, method: str, path: str, headers: Any, body: bytes, *rest: Any) -> str:
        _pending.set(None)
        action = headers.get("x-amz-target", "").rpartition(".")[2]
        if service not in checks or not action:
            return str(resource_of(service, method, path, headers, body, *rest))
        wanted = checks[service](action, json.loads(body or b"{}"))
        _pending.set(wanted)
        return wanted[0].resource

    def enforce_all(key: str, action: str, service: str, region: str, **asked: Any) -> Any:
        wanted = _pending.get()
        _pending.set(None)
        if wanted is None:
            return enforce(key, action, service, region, **asked)
        shared = asked.get("service_context") or {}
        for one in wanted:
            context = {**shared, **one.context}
            denied = enforce(key, one.action, service, region, resource_arn=one.resource, service_context=context)
            if denied:
                return denied
        return None

    engines.replace("ministack.core.iam_actions", "extract_resource_arn", extract_resource_arn)
    engines.replace("ministack.core.iam_evaluator", "enforce", enforce_all)


def _recording(enforce: Callable[..., Any], calls: CallRecorder) -> Callable[..., Any]:
    sessions = engines.use("ministack.services.sts", "_sessions")
    tags_of = engines.use("ministack.services.tagging", "resource_tags")

    def enforce_and_record(key: str, action: str, service: str, region: str, **asked: Any) -> Any:
        denied = enforce(key, action, service, region, **asked)
        if session := sessions.get(key):
            resource = asked.get("resource_arn", "*")
            tags = {f"aws:ResourceTag/{name}": value for name, value in (tags_of(resource) or {}).items()}
            context = {**tags, **(asked.get("service_context") or {})}
            calls.record(session["Arn"], action, resource, context, allowed=denied is None)
        return denied

    return enforce_and_record


def add_tags(service: str, tags_by_arn: Callable[[], Iterable[tuple[str, dict[str, str]]]]) -> None:
    """aws:ResourceTag of a service's resources."""

    def collect() -> Iterable[tuple[str, list[dict[str, str]]]]:
        for arn, tags in tags_by_arn():
            yield arn, [{"Key": key, "Value": value} for key, value in tags.items()]

    engines.use("ministack.services.tagging", "_RESOURCE_TAG_COLLECTORS")[service] = collect


def request_tags(tags: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """aws:RequestTag and aws:TagKeys of tags in either spelling."""
    pairs = [(tag.get("Key", tag.get("key", "")), tag.get("Value", tag.get("value", ""))) for tag in tags]
    context: dict[str, Any] = {f"aws:RequestTag/{key}": value for key, value in pairs}
    return {**context, "aws:TagKeys": [key for key, _ in pairs]} if pairs else {}
