"""Commands that start a local cloud do not disturb each other."""

from pathlib import Path

import pytest

from tools.demo.example import locked
from tools.local_cloud.cloud import CloudFailed


def test_a_second_command_in_the_same_folder_is_refused_and_deletes_nothing(tmp_path: Path) -> None:
    state = tmp_path / "build" / "cloud"
    with locked(state):
        state.mkdir()
        (state / "fsx").write_text("a file system that is in use")
        with pytest.raises(CloudFailed, match="another command works in"), locked(state):
            pass
        assert (state / "fsx").exists()
    with locked(state):
        assert not state.exists()
