"""One synth for the whole test run: it takes seconds."""

import pytest

from tests.support.synth import synth_once
from tests.support.templates import Assembly


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The deployment that cdk.json describes."""
    return Assembly(synth_once(tmp_path_factory, "as-it-is"))
