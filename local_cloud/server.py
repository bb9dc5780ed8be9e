"""Puts the local cloud together and serves it."""

from __future__ import annotations

import asyncio
import logging
import shutil
import signal
import socket
from typing import Any

from local_cloud import engines
from local_cloud.clients import Clients
from local_cloud.clock import CompressedClock
from local_cloud.control import App, with_control
from local_cloud.faults import FaultBook
from local_cloud.platform.start import prepare
from local_cloud.recorded import CallBook
from local_cloud.services.ecs import Ecs
from local_cloud.services.ecs.launch import Launcher
from local_cloud.services.fsx import Fsx
from local_cloud.services.fsx.repository import S3Repository
from local_cloud.services.fsx.service import TARGET_PREFIX
from local_cloud.settings import Settings


class PortTaken(Exception):
    """Something else listens where the local cloud should."""


def serve(settings: Settings, *, on_ready: Any) -> None:
    """Runs until SIGINT or SIGTERM; `on_ready` is called once requests are answered."""
    _refuse_taken(settings.port)
    _clean(settings)
    prepare(settings)
    engines.check()
    # The interpreter logs each failing state as an error of its own; the history of the execution tells it.
    logging.getLogger("moto").setLevel(logging.CRITICAL)
    app, ecs = assemble(settings)
    try:
        asyncio.run(_serve(app, settings, on_ready))
    finally:
        ecs.close()


def assemble(settings: Settings) -> tuple[App, Ecs]:
    """Every part, wired. The engines must be prepared and checked."""
    from local_cloud.interpreter import calls, errors, expressions, striking, sync_tasks, tokens, waiting
    from local_cloud.interpreter.events import announce
    from local_cloud.interpreter.executions import Executions
    from local_cloud.platform import authorization, ecr, handlers, lambdas, logs, resource_types, roles, s3, schedules
    from local_cloud.platform import ecs as platform_ecs
    from local_cloud.platform.ecr_authorization import ecr_checks
    from local_cloud.platform.ecs_authorization import ecs_checks
    from local_cloud.platform.fsx_authorization import fsx_checks

    clock, faults, book = CompressedClock(time_scale=settings.time_scale), FaultBook(), CallBook()
    clients = Clients(endpoint=settings.endpoint)
    fsx = Fsx(root=settings.file_systems, clock=clock, repository=S3Repository(clients.get("s3")), faults=faults)
    registry = platform_ecs.PlatformRegistry()
    ecs = Ecs(
        registry=registry,
        launcher=Launcher(settings=settings, role_session=roles.task_session),
        logs=clients.get("logs"),
        clock=clock,
        faults=faults,
        labels_of=fsx.tags_of_mounted,
        announce=announce,
    )

    handlers.add_json_service("fsx", target_prefix=TARGET_PREFIX, operations=fsx.operations)
    platform_ecs.install(ecs)
    resource_types.install(clients)
    for part in (s3, ecr, lambdas, logs):
        part.install()
    schedules.install(clock)
    authorization.install({"fsx": fsx_checks, "ecs": ecs_checks(registry), "ecr": ecr_checks}, book=book)
    authorization.add_tags("fsx", fsx.tags_by_arn)
    authorization.add_tags("ecs", registry.tags_by_arn)
    handlers.add_faults(faults)

    calls.install(endpoint=settings.endpoint)
    for piece in (errors, expressions, sync_tasks):
        piece.install()
    waiting.install(clock)
    striking.install(faults, lambda arn: clients.get("stepfunctions").stop_execution(executionArn=arn))
    executions = Executions()
    executions.install()
    tokens.install(executions)
    return with_control(engines.use("ministack.app", "app"), faults, book, ecs.metadata), ecs


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
    asyncio.get_running_loop().create_task(_tell(settings, on_ready))
    await hypercorn_serve(app, config, shutdown_trigger=stop.wait)  # type: ignore[arg-type]


async def _tell(settings: Settings, on_ready: Any) -> None:
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
    """A cloud starts empty: what an earlier one left behind belongs to resources that are gone."""
    for folder in (settings.file_systems, settings.tasks, settings.images, settings.scratch):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    settings.home.mkdir(parents=True, exist_ok=True)
