"""Two cells of the grid that `make chaos` runs."""

import pytest

from benchmarks.chaos.__main__ import SCRIPT
from benchmarks.chaos.cells import Cell, of_state, of_training
from benchmarks.chaos.machines import State
from benchmarks.chaos.running import DATASET, Site, try_out
from client import deployment
from tests.workflow.runs import Deployed

TEARDOWN = next(cell for cell in of_state("Train", State("Teardown", True, ())) if cell.fault == "reply lost once")
KILLED = next(cell for cell in of_training() if cell.fault == "SIGKILL after a save")


@pytest.mark.parametrize(("number", "cell"), list(enumerate([TEARDOWN, KILLED])), ids=lambda value: str(value)[:20])
def test_a_cell_of_the_grid_keeps_all_promises(deployed: Deployed, number: int, cell: Cell) -> None:
    deployed.s3.put_object(Bucket=deployed.bucket, Key=f"{DATASET}{SCRIPT.name}", Body=SCRIPT.read_bytes())
    site = Site(deployed.cloud, deployment.find(deployed.cloud.client), most_seconds=120)
    outcome = try_out(site, cell, number)
    assert outcome.struck
    assert outcome.broken == []
    assert outcome.certificate is not None and outcome.certificate.verdict.last_verified_step == max(outcome.saved)
