"""Puts the local cloud together and serves it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import socket
from typing import Any

from tools.local_cloud import engines
from tools.local_cloud.clients import Clients, of_the_cloud_itself
from tools.local_cloud.clock import CompressedClock
from tools.local_cloud.control import App, with_control
from tools.local_cloud.faults import FaultRegistry
from tools.local_cloud.platform.start import prepare
from tools.local_cloud.recorded_calls import CallRecorder
from tools.local_cloud.services.ecs import Ecs
from tools.local_cloud.services.ecs.launch import Launcher
from tools.local_cloud.services.fsx import Fsx
from tools.local_cloud.services.fsx.network import Ec2Network
from tools.local_cloud.services.fsx.repository import S3Repository
from tools.local_cloud.services.fsx.service import TARGET_PREFIX
from tools.local_cloud.services.quotas import Quotas
from tools.local_cloud.services.throttling import Throttles
from tools.local_cloud.settings import Settings


class PortTaken(Exception):
    """Something else listens where the local cloud should."""


def serve(settings: Settings, *, on_ready: Any) -> None:
    """Runs until SIGINT or SIGTERM; `on_ready` is called once requests are answered."""
    _refuse_taken(settings.port)
    _clean(settings)
    prepare(settings)
    engines.check()
    # The interpreter logs every failing state as an error; the history of the execution has them already.
    logging.getLogger("moto").setLevel(logging.CRITICAL)
    app, ecs = assemble(settings)
    try:
        asyncio.run(_serve(app, settings, on_ready))
    finally:
        ecs.close()


def assemble(settings: Settings) -> tuple[App, Ecs]:
    """All parts, connected. The engines must be prepared and checked."""
    from tools.local_cloud.interpreter import (
        arguments,
        calls,
        definitions,
        errors,
        execution_requests,
        expressions,
        fault_injection,
        history,
        request_limits,
        single_states,
        sizes,
        sync_tasks,
        tokens,
        waiting,
    )
    from tools.local_cloud.interpreter.events import announce
    from tools.local_cloud.interpreter.executions import Executions
    from tools.local_cloud.platform import (
        authorization,
        deliveries,
        ecr,
        handlers,
        instance_types,
        lambdas,
        logs,
        resource_types,
        roles,
        s3,
        schedules,
        service_linked_roles,
    )
    from tools.local_cloud.platform import ecs as platform_ecs
    from tools.local_cloud.platform.ecr_authorization import ecr_checks
    from tools.local_cloud.platform.ecs_authorization import ecs_checks
    from tools.local_cloud.platform.fsx_authorization import fsx_checks
    from tools.local_cloud.platform.quotas_authorization import quotas_checks

    clock, faults, recorder = CompressedClock(time_scale=settings.time_scale), FaultRegistry(), CallRecorder()
    clients = Clients(endpoint=settings.endpoint, config=of_the_cloud_itself())
    quotas = Quotas(faults, clock, new_account=settings.new_account)
    linked_roles = service_linked_roles.ServiceLinkedRoles(new_account=settings.new_account)
    fsx = Fsx(
        root=settings.file_systems,
        clock=clock,
        repository=S3Repository(clients.get("s3")),
        network=Ec2Network(clients.get("ec2")),
        faults=faults,
        value_of_quota=quotas.value,
    )
    registry = platform_ecs.PlatformRegistry()
    ecs = Ecs(
        registry=registry,
        launcher=Launcher(settings=settings, role_session=roles.task_session),
        logs=clients.get("logs"),
        clock=clock,
        faults=faults,
        groups=platform_ecs.groups(clients, quotas.value),
        labels_of=fsx.tags_of_mounted,
        announce=announce,
    )

    create = linked_roles.makes(service_linked_roles.FSX, fsx.operations["CreateFileSystem"])
    operations = {**fsx.operations, "CreateFileSystem": create}
    handlers.add_json_service("fsx", target_prefix=TARGET_PREFIX, operations=operations)
    handlers.add_json_service("servicequotas", target_prefix=quotas.target_prefix, operations=quotas.operations)
    platform_ecs.install(ecs)
    resource_types.install(clients)
    linked_roles.install()
    for part in (s3, ecr, instance_types, logs):
        part.install()
    lambdas.install(clock)
    schedules.install(clock)
    deliveries.install(clients, clock, faults)
    checks = {
        "fsx": fsx_checks(fsx.arn_of_link, linked_roles),
        "ecs": ecs_checks(registry),
        "ecr": ecr_checks,
        "servicequotas": quotas_checks,
    }
    authorization.install(checks, calls=recorder)
    authorization.add_tags("fsx", fsx.tags_by_arn)
    authorization.add_tags("ecs", registry.tags_by_arn)
    handlers.add_refusals(faults, Throttles(clock.aws_seconds))

    calls.install(endpoint=settings.endpoint)
    for piece in (errors, expressions, sync_tasks, sizes, arguments, history, definitions, execution_requests):
        piece.install()
    waiting.install(clock)
    fault_injection.install(faults, lambda arn: clients.get("stepfunctions").stop_execution(executionArn=arn))
    executions = Executions()
    executions.install()
    single_states.install(executions.worker_of)
    tokens.install(executions)
    request_limits.install({"RedriveExecution": execution_requests.redrive})
    return with_control(engines.use("ministack.app", "app"), faults, recorder, ecs.metadata), ecs


async def _serve(app: App, settings: Settings, on_ready: Any) -> None:
    from hypercorn.asyncio import serve as hypercorn_serve
    from hypercorn.config import Config

    config = Config()
    config.bind = [f"127.0.0.1:{settings.port}"]
    config.keep_alive_timeout = 75
    config.loglevel = "WARNING"
    config.graceful_timeout = 1
    stop = asyncio.Event()
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    asyncio.get_running_loop().create_task(_call_when_listening(settings, on_ready))
    await hypercorn_serve(app, config, shutdown_trigger=stop.wait)  # type: ignore[arg-type]


async def _call_when_listening(settings: Settings, on_ready: Any) -> None:
    while not _listening(settings.port):
        await asyncio.sleep(0.05)
    on_ready()


def _listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _refuse_taken(port: int) -> None:
    if _listening(port):
        raise PortTaken(f"127.0.0.1:{port} is in use; is another local cloud up? Use --port to choose another.")


def _clean(settings: Settings) -> None:
    """A cloud starts empty: files of an earlier one belong to resources that are gone."""
    for folder in (settings.file_systems, settings.tasks, settings.images, settings.scratch):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    settings.home.mkdir(parents=True, exist_ok=True)
