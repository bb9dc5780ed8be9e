"""Credentials of roles, so that IAM decides by the role."""

from __future__ import annotations

import hashlib
from functools import cache

from tools.local_cloud import engines
from tools.local_cloud.clients import Identity
from tools.local_cloud.settings import ACCOUNT, REGION


@cache
def assume(role_arn: str, session: str) -> Identity:
    """The identity of a session of the role; the same one each time."""
    name = role_arn.rpartition("/")[2]
    digest = hashlib.sha256(f"{role_arn} {session}".encode()).hexdigest()
    identity = Identity(
        access_key=f"ASIA{digest[:16].upper()}",
        secret_key=hashlib.sha256(f"secret {digest}".encode()).hexdigest(),
        session_token=hashlib.sha256(f"token {digest}".encode()).hexdigest(),
    )
    register = engines.use("ministack.services.sts", "register_session")
    register(
        identity.access_key,
        {
            "Arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/{name}/{session}",
            "UserId": f"{name}:{session}",
            "SecretAccessKey": identity.secret_key,
            "SessionToken": identity.session_token,
        },
    )
    return identity


def task_session(role_arn: str, task_id: str) -> Identity | None:
    """Credentials for a task, or None when its role allows nothing."""
    policies = engines.use("ministack.core.iam_evaluator", "_gather_role_policies")
    scope = engines.use("ministack.core.responses", "request_scope")
    with scope(ACCOUNT, REGION):
        allows_something = bool(policies(role_arn.rpartition("/")[2], ACCOUNT))
    return assume(role_arn, task_id) if allows_something else None
