"""Writes what a reviewer reads in place of the templates: flows as outlines and pictures, and all grants."""

import tempfile
from pathlib import Path

from tools.console import without_options
from tools.definitions import flow, grants
from tools.definitions.synth import synth
from tools.definitions.templates import Assembly
from tools.docgen import pictures
from tools.repository import REPOSITORY

FOLDER = REPOSITORY / "tests" / "synth" / "stacks" / "golden"
REFRESH = "python -m tools.docgen.outlines"


def rendered(assembly: Assembly) -> dict[str, str]:
    return {
        "train.flow": flow.outline(assembly.machine("Train")),
        "teardown.flow": flow.outline(assembly.machine("Teardown")),
        "grants.txt": grants.written_out(assembly),
    }


def committed(name: str) -> str:
    return (FOLDER / name).read_text()


def main() -> None:
    without_options(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        assembly = Assembly(synth(Path(folder)))
    files = {FOLDER / name: text for name, text in rendered(assembly).items()}
    files[pictures.PAGE] = pictures.with_pictures(pictures.PAGE.read_text(), assembly)
    for file, text in files.items():
        file.write_text(text)
        print(f"written: {file.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
