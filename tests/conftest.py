"""For every test: the marker of its folder, what each folder took at the end, and one synth, which takes seconds."""

import os
from collections import defaultdict
from pathlib import Path

import pytest

from tools.definitions.synth import synth_once
from tools.definitions.templates import Assembly
from tools.repository import REPOSITORY


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, as whole runs wait half of their time; four at most, each has a local cloud."""
    return min(4, (os.cpu_count() or 1) + 1)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.add_marker(_folder(item.path.relative_to(REPOSITORY)).split("/")[0])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Seconds of setup, test and teardown; with several processes their sum, which is more than the clock shows."""
    seconds: dict[str, float] = defaultdict(float)
    tests: dict[str, set[str]] = defaultdict(set)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                folder = _folder(Path(report.nodeid.split("::")[0]))
                seconds[folder] += report.duration
                tests[folder].add(report.nodeid)
    if not seconds:
        return
    terminalreporter.section("seconds in each folder")
    for folder in sorted(seconds):
        terminalreporter.line(f"{seconds[folder]:8.1f} s  {folder:24} {len(tests[folder]):5} tests")


def _folder(file: Path) -> str:
    """tests/unit/cli/test_main.py: unit/cli."""
    if file.parts[0] == "stallfree":
        return "stallfree"
    return "/".join(file.parts[1:-1][:2])


@pytest.fixture(scope="session")
def assembly(tmp_path_factory: pytest.TempPathFactory) -> Assembly:
    """The deployment that cdk.json describes."""
    return Assembly(synth_once(tmp_path_factory, "as-it-is"))
