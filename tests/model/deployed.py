"""What is deployed, as the model needs it: both definitions, and which ends of Train the rescue rule hears of."""

import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tests.model import net, s3
from tests.model.net import Net
from tests.model.surroundings import Surroundings
from tests.support.synth import synth
from tests.support.templates import Assembly


class Deployed(NamedTuple):
    definitions: dict[str, Any]
    rescued: frozenset[str]

    def exact(self, *, pruned: bool = True) -> Net:
        """For schedules: polls and repetitions are counted, and time passes in waits."""
        return Net(self.definitions, self.rescued, Surroundings(exact=True, most_saves=2), pruned=pruned)

    def endless(self) -> Net:
        """For the search: anything may take any time and fail any number of times."""
        return Net(self.definitions, self.rescued, Surroundings(exact=False, most_saves=1))


def of(assembly: Assembly) -> Deployed:
    rule = assembly.at("Rescue/OnUnfinished").properties
    detail = rule["EventPattern"]["detail"]
    assert detail["stateMachineArn"][0].endswith("-train")
    [target] = rule["Targets"]
    told = target["InputTransformer"]["InputTemplate"].replace("<detail-executionArn>", f'"{s3.TRAIN}"')
    assert json.loads(told) == net.ORDER, told
    return Deployed({name: assembly.machine(name) for name in ("Train", "Teardown")}, frozenset(detail["status"]))


def here() -> Deployed:
    """Synthesized now, from this folder."""
    with tempfile.TemporaryDirectory() as folder:
        return of(Assembly(synth(Path(folder))))
