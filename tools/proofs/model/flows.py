"""What the model reads from the synthesized templates: both flows, and which ends of Train start the rescue."""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tools.definitions.synth import synth
from tools.definitions.templates import Assembly
from tools.proofs.model import s3
from tools.proofs.model.environment import AwsEnvironment
from tools.proofs.model.system import RESCUE_INPUT, Model


class Flows(NamedTuple):
    """`rescued`: the statuses of Train for which the rescue rule starts a teardown."""

    definitions: dict[str, Any]
    rescued: frozenset[str]

    def exact(self, *, pruned: bool = True) -> Model:
        """For schedules: polls and retries are counted, and time passes in waits."""
        return Model(self.definitions, self.rescued, AwsEnvironment(exact=True, most_saves=2), pruned=pruned)

    def endless(self, *, most_teardowns: int = 2) -> Model:
        """For the search: anything may take any time and fail any number of times."""
        environment = AwsEnvironment(exact=False, most_saves=1)
        return Model(self.definitions, self.rescued, environment, most_teardowns=most_teardowns)


def flows_of(assembly: Assembly) -> Flows:
    rule = assembly.at("Rescue/OnUnfinished").properties
    detail = rule["EventPattern"]["detail"]
    assert detail["stateMachineArn"][0].endswith("-train")
    [target] = rule["Targets"]
    given = target["InputTransformer"]["InputTemplate"].replace("<detail-executionArn>", f'"{s3.TRAIN}"')
    assert json.loads(given) == RESCUE_INPUT, given
    return Flows({name: assembly.machine(name) for name in ("Train", "Teardown")}, frozenset(detail["status"]))


def synthesized() -> Flows:
    """From this folder, now."""
    with tempfile.TemporaryDirectory() as folder:
        return flows_of(Assembly(synth(Path(folder))))
