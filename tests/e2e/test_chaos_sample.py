"""Two cells of the grid that `make chaos` runs."""

import pytest

from tools.local_runs.runs import Deployed
from tools.proofs.chaos.cells import Cell, of_state, of_training
from tools.proofs.chaos.machines import State
from tools.proofs.chaos.running import run_cell, upload_training

CALL = "arn:aws:states:::states:startExecution.sync:2"
TEARDOWN = next(cell for cell in of_state("Train", State("Teardown", CALL, ())) if cell.fault == "reply lost once")
KILLED = next(cell for cell in of_training() if cell.fault == "SIGKILL after a save")


@pytest.mark.parametrize(("number", "cell"), list(enumerate([TEARDOWN, KILLED])), ids=lambda value: str(value)[:20])
def test_a_cell_of_the_grid_keeps_all_promises(deployed: Deployed, number: int, cell: Cell) -> None:
    upload_training(deployed)
    outcome = run_cell(deployed, cell, number, most_seconds=120)
    assert outcome.injected
    assert outcome.broken == []
    assert outcome.certificate is not None and outcome.certificate.verdict.last_verified_step == max(outcome.saved)
