"""The Lambdas of the flows: their own code on the world of the model, so that it cannot drift from what they decide."""

import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from functools import cache
from importlib import import_module
from inspect import unwrap
from types import ModuleType
from typing import Any

from lambdas.sense import clock, telemetry
from tests.lambdas.world import Context
from tests.model import s3
from tests.model.clients import Client, Refused
from tests.model.standing import Fault
from tests.model.values import Frozen, compact, freeze, thaw
from tests.model.world import World

_SETTINGS = {
    "BELAY_BUCKET": s3.BUCKET,
    "BELAY_DEPLOYMENT": "belay",
    "BELAY_CLUSTER": "belay",
    "BELAY_TRAINER_FAMILY": "belay-trainer",
    "BELAY_TRAINER_LOG_GROUP": "/belay/trainer",
    "BELAY_TRAIN_MACHINE_ARN": s3.TRAINS,
    "BELAY_TEARDOWN_MACHINE_ARN": s3.TEARDOWNS,
    "BELAY_NOTICES_TOPIC_ARN": "arn:aws:sns:us-east-1:123456789012:notices",
}
# What each function asks about. It is shown nothing else, so a name that is missing here is found out at once.
_SEES = {
    "accept": ("s3",),
    "scratch_phase": ("file_systems",),
    "links_phase": ("file_systems", "exports"),
    "training_phase": ("trainings",),
    "export_phase": ("exports",),
    "mark": ("file_systems",),
    "judge": (),
    "find": ("train", "file_systems", "trainings", "s3"),
    "verify": ("s3", "log"),
    "certify": ("s3", "log"),
    "sweep": ("train", "teardowns", "file_systems", "s3"),
    "pump": ("file_systems", "exports", "s3", "log"),
}
# What lies on a file system they do not ask, and do not touch.
_ASK_HOW_IT_IS = ("scratch_phase", "links_phase", "find", "sweep")


def ask(name: str, question: Frozen, world: World) -> tuple[World, Any]:
    """The answer of a Lambda or its error, and the world after it."""
    seen = World(**{field: getattr(world, field) for field in _SEES[name]})
    if name in _ASK_HOW_IT_IS:
        seen = seen._replace(file_systems=tuple(one._replace(saved=0, events=()) for one in seen.file_systems))
    after, answer = _asked(name, question, seen)
    if after == seen:
        return world, answer
    fields = (*_SEES[name], "starting", "broken")
    changed = {field: getattr(after, field) for field in fields if getattr(after, field) != getattr(seen, field)}
    return world._replace(**changed), answer


@cache
def _asked(name: str, question: Frozen, world: World) -> tuple[World, Any]:
    module, stage = import_module(f"lambdas.{name}"), Client(world)
    with _played(module, stage):
        try:
            answer = freeze(json.loads(json.dumps(unwrap(module.handler)(thaw(question), Context()))))
        except Exception as error:
            name = "ClientError" if isinstance(error, Refused) else type(error).__name__
            told = {"errorMessage": str(error), "errorType": name}
            return stage.world, Fault(name, compact(told))
    return stage.world, answer


@contextmanager
def _played(module: ModuleType, stage: Client) -> Iterator[None]:
    """The handler's clients, settings and clock are the model's while it runs."""
    before = getattr(module, "client", None), clock.now
    settings = {name: os.environ.get(name) for name in _SETTINGS}
    os.environ.update(_SETTINGS)
    module.client, clock.now = stage.client, lambda: s3.NOW  # type: ignore[attr-defined]
    try:
        # Powertools prints its metrics.
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        module.client, clock.now = before  # type: ignore[attr-defined]
        telemetry.metrics.clear_metrics()
        for name, value in settings.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
