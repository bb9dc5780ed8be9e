"""Lists each command in the documents, and how a test runs it; a test fails for one that the table here lacks."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tools.console import without_options
from tools.docgen.command_check import PAGES, commands_of, parts_of

# Other spellings of the placeholders in belay's commands.
_VALUES = {"FILE": "job.json", "RUN...": "RUN"}
# Mentioned without their arguments; another place has the whole command.
_MENTIONED = ("init", "validate", "plan", "report", "checkpoints rm")

DRY = "make --dry-run lists its commands, and the programs in them exist"
HERE = "run, on this machine alone"
ON_THE_LOCAL_CLOUD = "run against the stacks on a local cloud"
# By the first words of each; a longer one goes before a shorter one.
HOW = {
    "aws autoscaling set-instance-protection": "not run: the local cloud takes no instance away",
    "aws fsx create-data-repository-task": "not run: it needs a file system that a removal left behind",
    "aws iam create-service-linked-role": "not run: the account of the local cloud has that role",
    "aws": ON_THE_LOCAL_CLOUD,
    "belay": ON_THE_LOCAL_CLOUD,
    "make": DRY,
    "npm ci": "run by make, before every test that needs Node",
    "npx cdk": "run against a local cloud, without a question: tests/e2e/test_the_removal.py",
    "pip install torch": "not run: it downloads gigabytes from an index that the reader chooses",
    "pip install -r requirements.txt": "not run: it downloads everything; tests/unit/test_requirements.py reads it",
    "pip install pre-commit": "not run: what its hooks call is run by the gate",
    "pre-commit install": "not run: it writes into .git",
    "pip install": "run into a folder of its own, without what the package needs",
    "pytest": "run by the gate, with all other tests",
    "python -m tools.local_cloud": "run with other values before every end-to-end test, by tools/local_cloud/cloud.py",
    "python -m tools.proofs.upgrade.record": "not run, as it writes; tests/synth/upgrade go by what it has written",
    "python -m tools.docgen.outlines": "not run, as it writes; what it would write is compared in tests/synth",
    "python3 -m venv": HERE,
    "source": "not run: it changes the shell that it is typed into",
}


class Documented(NamedTuple):
    words: tuple[str, ...]
    how: str


def documented() -> list[Documented]:
    """Each command once, in the order of the documents."""
    every = dict.fromkeys(words for page in PAGES for command in commands_of(page) for words in _typed(command.text))
    return [Documented(words, _how(words)) for words in every if not _is_only_mentioned(words)]


def on_the_local_cloud(program: str) -> list[tuple[str, ...]]:
    """Without the program itself."""
    return [words[1:] for words, how in documented() if how == ON_THE_LOCAL_CLOUD and words[0] == program]


def _typed(text: str) -> Iterator[tuple[str, ...]]:
    for words in parts_of(text):
        bare = [re.sub(r"^\[(.*)\]$", r"\1", word) for word in words]
        yield tuple(_VALUES.get(word, word) for word in bare)


def _is_only_mentioned(words: tuple[str, ...]) -> bool:
    return words in [("belay", *named.split()) for named in _MENTIONED]


def _how(words: tuple[str, ...]) -> str:
    text = " ".join(words)
    return next((how for begin, how in HOW.items() if re.match(rf"{re.escape(begin)}(?!\w)", text)), "")


if __name__ == "__main__":
    without_options(__doc__)
    commands = documented()
    for words, how in commands:
        print(f"{' '.join(words):100} {how}")
    print(f"{len(commands)} commands: {dict(Counter(how for _, how in commands))}")
