"""One synth for these tests."""

import pytest

from tests.model import deployed
from tests.model.deployed import Deployed
from tests.support.synth import synth
from tests.support.templates import Assembly


@pytest.fixture(scope="session")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Deployed:
    return deployed.of(Assembly(synth(tmp_path_factory.mktemp("model"))))
