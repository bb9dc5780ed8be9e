"""One synth for the whole test run: it takes seconds."""

import pytest

from tests.support.synth import synth
from tests.support.templates import Assembly


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The deployment that cdk.json describes."""
    return Assembly(synth(tmp_path_factory.mktemp("synth")))
