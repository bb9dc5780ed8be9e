"""What a reviewer reads in place of the templates: flows as outlines and pictures, and all grants.

`python -m` writes them.
"""

import tempfile
from pathlib import Path

from tests.support import flow, grants, pictures
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
        assembly = Assembly(synth(Path(folder)))
    files = {FOLDER / name: text for name, text in rendered(assembly).items()}
    files[pictures.PAGE] = pictures.with_pictures(pictures.PAGE.read_text(), assembly)
    for file, text in files.items():
        file.write_text(text)
        print(f"written: {file.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
