"""How each command of the documents is run by a test. One of a new kind belongs into a table here, or a test fails.

`python -m tests.support.documented` lists them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.support.commands import PAGES, commands_of, parts_of

# What stands for a value in belay's commands, as those who run them have it.
_VALUES = {"FILE": "job.json", "RUN...": "RUN"}
# Spoken of with their first words alone; each stands somewhere else with all that it needs.
_NEEDS_WORDS = ("init", "validate", "plan", "report", "checkpoints rm")

DRY = "make -n says what it would do, and the programs that it names are there"
HERE = "run, on this machine alone"
ON_THE_LOCAL_CLOUD = "run against the stacks on a local cloud"
# By the first words of each; a longer one goes before a shorter one.
HOW = {
    "aws autoscaling set-instance-protection": "not run: the local cloud takes no instance away",
    "aws fsx create-data-repository-task": "not run: it is for what a removal left behind",
    "aws iam create-service-linked-role": "not run: the local cloud needs no such role",
    "aws": ON_THE_LOCAL_CLOUD,
    "belay": ON_THE_LOCAL_CLOUD,
    "make": DRY,
    "npx cdk": "run against a local cloud, without a question: tests/workflow/test_the_removal.py",
    "pip install torch": "not run: it fetches gigabytes from an index that its reader chooses",
    "pip install": "run into a folder of its own, without what the package needs",
    "pytest": "run by the gate, with all other tests",
    "python -m local_cloud": "run with other values before every end-to-end test, by local_cloud/cloud.py",
    "python -m tests.support.golden": "not run, as it writes; what it would write is compared in tests/stacks",
    "python3 -m venv": HERE,
}


class Documented(NamedTuple):
    words: tuple[str, ...]
    how: str


def documented() -> list[Documented]:
    """Each command once, in the order of the documents."""
    every = dict.fromkeys(words for page in PAGES for command in commands_of(page) for words in _typed(command.text))
    return [Documented(words, _how(words)) for words in every if not _is_only_named(words)]


def on_the_local_cloud(program: str) -> list[tuple[str, ...]]:
    """Without the program itself."""
    return [words[1:] for words, how in documented() if how == ON_THE_LOCAL_CLOUD and words[0] == program]


def _typed(text: str) -> Iterator[tuple[str, ...]]:
    for words in parts_of(text):
        bare = [re.sub(r"^\[(.*)\]$", r"\1", word) for word in words]
        yield tuple(_VALUES.get(word, word) for word in bare)


def _is_only_named(words: tuple[str, ...]) -> bool:
    return words in [("belay", *named.split()) for named in _NEEDS_WORDS]


def _how(words: tuple[str, ...]) -> str:
    text = " ".join(words)
    return next((how for begin, how in HOW.items() if re.match(rf"{re.escape(begin)}(?!\w)", text)), "")


if __name__ == "__main__":
    commands = documented()
    for words, how in commands:
        print(f"{' '.join(words):100} {how}")
    print(f"{len(commands)} commands: {dict(Counter(how for _, how in commands))}")
