"""What a reviewer reads in place of the templates: both flows as outlines, and all grants. `python -m` writes them."""

import tempfile
from pathlib import Path

from tests.support import flow, grants
from tests.support.synth import REPOSITORY, synth
from tests.support.templates import Assembly

FOLDER = REPOSITORY / "tests" / "stacks" / "golden"
REFRESH = "python -m tests.support.golden"


def rendered(assembly: Assembly) -> dict[str, str]:
    return {
        "train.flow": flow.outline(assembly.machine("Train")),
        "teardown.flow": flow.outline(assembly.machine("Teardown")),
        "grants.txt": grants.written_out(assembly),
    }


def committed(name: str) -> str:
    return (FOLDER / name).read_text()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, text in rendered(Assembly(synth(Path(folder)))).items():
            (FOLDER / name).write_text(text)
            print(f"written: {(FOLDER / name).relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
