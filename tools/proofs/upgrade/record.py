"""Records this version, so that later ones can show that its runs go on: at each release, and before it is changed.

`python -m tools.proofs.upgrade.record`. It takes seconds. Of the versions before, the last one stays.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console

from belay import __version__
from belay.contract.messages import MESSAGES_VERSION
from tools.console import without_options
from tools.definitions.synth import synth
from tools.definitions.templates import Assembly
from tools.proofs.model.execution import Frame
from tools.proofs.model.explore import Explorer
from tools.proofs.model.flows import Flows, flows_of
from tools.proofs.model.system import System
from tools.proofs.permissions.recorded_calls import golden
from tools.proofs.upgrade import documents
from tools.proofs.upgrade.going_on import ends_of, trainer_lines
from tools.proofs.upgrade.lambdas import deployed_code
from tools.proofs.upgrade.recording import FOLDER, KEPT, Recording, Suspended, sorted_by_version


def main() -> None:
    without_options(__doc__)
    console = Console(highlight=False)
    with tempfile.TemporaryDirectory() as folder:
        recording = of_this_version(flows_of(Assembly(synth(Path(folder)))))
    path = recording.write()
    console.print(f"written: {path.name}, {len(recording.suspended)} runs, {path.stat().st_size / 1024:.0f} KiB")
    for old in sorted_by_version(FOLDER)[:-KEPT]:
        old.unlink()
        console.print(f"removed: {old.name}")


def of_this_version(flows: Flows) -> Recording:
    model = flows.exact()
    suspended = [Suspended(at, system, ends_of(model, system)) for at, system in _everywhere(flows).items()]
    return Recording(
        version=__version__,
        messages_version=MESSAGES_VERSION,
        definitions=flows.definitions,
        code=deployed_code(),
        calls=golden(),
        lines=trainer_lines(),
        documents=documents.written([one.system.aws for one in suspended]),
        suspended=suspended,
    )


def _everywhere(flows: Flows) -> dict[str, System]:
    """A run in each state of both machines, and in each two of them: the first of all schedules of one fault."""
    explorer = Explorer(flows.exact(), faults=1, keep=True)
    assert not explorer.result.broken
    found: dict[str, System] = {}
    for system, _ in explorer.kept or []:
        found.setdefault(" + ".join(_states_of(system)) or "between Train and what follows", system)
    return found


def _states_of(system: System) -> Iterator[str]:
    if system.train:
        yield f"Train: {', '.join(innermost(system.train))}"
    for one in system.teardowns:
        yield f"Teardown: {', '.join(innermost(one.frame))}"


def innermost(frame: Frame) -> list[str]:
    """The states that an execution is in: of a Parallel, one of each branch."""
    inner = [name for one in frame.inner if isinstance(one, Frame) for name in innermost(one)]
    return inner or [frame.state]


if __name__ == "__main__":
    main()
