"""The Lambdas of the flows: their own code runs on the model of AWS, so that the model cannot differ from it."""

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from inspect import unwrap
from types import ModuleType
from typing import Any

from belay.aws import clock, ecs, telemetry
from tools.definitions.handlers import handler_module
from tools.proofs.fakes.world import Context
from tools.proofs.model import s3
from tools.proofs.model.aws_state import AwsState
from tools.proofs.model.clients import Client, Refused
from tools.proofs.model.execution import Fault
from tools.proofs.model.values import Frozen, compact, freeze, thaw

_SETTINGS = {
    "BELAY_BUCKET": s3.BUCKET,
    "BELAY_DEPLOYMENT": "belay",
    "BELAY_INSTANCE_TYPE": "g6.xlarge",
    "BELAY_CLUSTER": "belay",
    "BELAY_TRAINER_FAMILY": "belay-trainer",
    "BELAY_TRAINER_LOG_GROUP": "/belay/trainer",
    "BELAY_LOG_CALLS_PER_SECOND": "1000000",
    "BELAY_TRAIN_MACHINE_ARN": s3.TRAINS,
    "BELAY_TEARDOWN_MACHINE_ARN": s3.TEARDOWNS,
    "BELAY_NOTICES_TOPIC_ARN": "arn:aws:sns:us-east-1:123456789012:notices",
}
# The fields that each function can see. A function that needs another one fails at once.
_VISIBLE = {
    "accept": ("s3",),
    "scratch_phase": ("file_systems",),
    "link_phase": ("file_systems", "exports"),
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
# These do not depend on what is saved on a file system.
_CONTENT_UNUSED = ("scratch_phase", "link_phase", "find", "sweep")


@dataclass(frozen=True, eq=False)
class Code:
    """The Lambdas' handlers, and the modules of theirs whose clients and time are the model's while one runs."""

    clock: Any
    ecs: Any
    telemetry: Any
    handler_module: Callable[[str], ModuleType]


HERE = Code(clock, ecs, telemetry, handler_module)


def ask(name: str, question: Frozen, aws: AwsState, code: Code = HERE) -> tuple[AwsState, Any]:
    """The answer of a Lambda or its error, and the state of AWS after it."""
    seen = AwsState(**{field: getattr(aws, field) for field in _VISIBLE[name]})
    if name in _CONTENT_UNUSED:
        seen = seen._replace(file_systems=tuple(one._replace(saved=0, events=()) for one in seen.file_systems))
    after, answer = _answer(name, question, seen, code)
    if after == seen:
        return aws, answer
    fields = (*_VISIBLE[name], "starting", "broken")
    changed = {field: getattr(after, field) for field in fields if getattr(after, field) != getattr(seen, field)}
    return aws._replace(**changed), answer


def forget_answers() -> None:
    """Where the code behind them is another now."""
    _answer.cache_clear()


@cache
def _answer(name: str, question: Frozen, aws: AwsState, code: Code) -> tuple[AwsState, Any]:
    module, client = code.handler_module(name), Client(aws)
    with _in_model(module, client, code):
        try:
            answer = freeze(json.loads(json.dumps(unwrap(module.handler)(thaw(question), Context()))))
        except Exception as error:
            name = "ClientError" if isinstance(error, Refused) else type(error).__name__
            cause = {"errorMessage": str(error), "errorType": name}
            return client.aws, Fault(name, compact(cause))
    return client.aws, answer


@contextmanager
def _in_model(module: ModuleType, client: Client, code: Code) -> Iterator[None]:
    """While the handler runs, its clients, settings and clock are the model's."""
    # The back end's adapter has a client of its own.
    asking = {one: getattr(one, "client", None) for one in (module, code.ecs)}
    now = code.clock.now
    settings = {name: os.environ.get(name) for name in _SETTINGS}
    os.environ.update(_SETTINGS)
    for one in asking:
        one.client = client.client  # type: ignore[union-attr]
    code.clock.now = lambda: s3.NOW
    try:
        # Powertools prints its metrics.
        with redirect_stdout(io.StringIO()):
            yield
    finally:
        for one, before in asking.items():
            one.client = before  # type: ignore[union-attr]
        code.clock.now = now
        code.telemetry.metrics.clear_metrics()
        for name, value in settings.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
