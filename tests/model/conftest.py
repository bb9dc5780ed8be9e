"""What the model runs, from the synth that all tests share."""

import pytest

from tests.model import deployed
from tests.model.deployed import Deployed
from tests.support.templates import Assembly


@pytest.fixture(scope="session")
def definitions(assembly: Assembly) -> Deployed:
    return deployed.of(assembly)
