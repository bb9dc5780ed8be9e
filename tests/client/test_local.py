"""The commands that bring their own cloud leave each other alone."""

from pathlib import Path

import pytest

from client.local.house import alone_in
from local_cloud.cloud import CloudFailed


def test_a_second_command_in_the_same_folder_is_refused_and_takes_nothing_away(tmp_path: Path) -> None:
    state = tmp_path / "build" / "cloud"
    with alone_in(state):
        state.mkdir()
        (state / "fsx").write_text("a file system that is in use")
        with pytest.raises(CloudFailed, match="another command works in"), alone_in(state):
            pass
        assert (state / "fsx").exists()
    with alone_in(state):
        assert not state.exists()
