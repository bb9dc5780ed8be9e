"""The flows that the model runs, from the synth that all tests share."""

import pytest

from tools.definitions.templates import Assembly
from tools.proofs.model.flows import Flows, flows_of


@pytest.fixture(scope="session")
def flows(assembly: Assembly) -> Flows:
    return flows_of(assembly)
