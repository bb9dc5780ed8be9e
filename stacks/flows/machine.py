"""A state machine of ours: logged, traced, and allowed exactly what its states carry."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_stepfunctions as sfn
from constructs import Construct

from belay.contract.states import State
from stacks.flows.calls import Ask


class UnknownState(Exception):
    """A state has a name that belay/contract/states.py does not list: nothing that reads a run would know it."""


class Carrier(Protocol):
    """A state that brings the statements its machine's role needs."""

    @property
    def allowed_by(self) -> Sequence[iam.PolicyStatement]: ...


def machine(
    scope: Construct,
    id: str,
    *,
    name: str,
    definition: sfn.IChainable,
    states: Iterable[State],
    carriers: Sequence[Carrier],
    timeout: Duration,
    log_retention: logs.RetentionDays,
) -> sfn.StateMachine:
    _check_names(scope, set(states))
    log_group = logs.LogGroup(
        scope,
        f"{id}Log",
        # Under this prefix a log group needs no resource policy of its own.
        log_group_name=f"/aws/vendedlogs/states/{name}",
        retention=log_retention,
        removal_policy=RemovalPolicy.DESTROY,
    )
    made = sfn.StateMachine(
        scope,
        id,
        state_machine_name=name,
        definition_body=sfn.DefinitionBody.from_chainable(definition),
        query_language=sfn.QueryLanguage.JSONATA,
        timeout=timeout,
        tracing_enabled=True,
        logs=sfn.LogOptions(destination=log_group, level=sfn.LogLevel.ALL, include_execution_data=True),
    )
    for carrier in [*carriers, *_asks(scope)]:
        for statement in carrier.allowed_by:
            made.add_to_role_policy(statement)
    return made


def _asks(scope: Construct) -> list[Ask]:
    return [child for child in scope.node.find_all() if isinstance(child, Ask)]


def _check_names(scope: Construct, known: set[State]) -> None:
    """ "Link: wait" is a state of the poll "Link"."""
    names = {child.state_id for child in scope.node.find_all() if isinstance(child, sfn.State)}
    if unknown := {name for name in names if name.split(": ")[0] not in known}:
        raise UnknownState(f"{', '.join(sorted(unknown))}: not in belay/contract/states.py")
