"""What runs the training tasks is behind one protocol: no other file names its service."""

import re

from tools.repository import REPOSITORY

_SERVICE = re.compile(r"\becs\b", re.IGNORECASE)
_FOLDERS = ("belay", "lambdas", "stacks", "containers")
# The back end and its adapter.
_IS_IT = ("stacks/backends/", "belay/aws/backend.py", "belay/aws/ecs.py", "belay/policy/ecs_words.py")
# What names it all the same, and why.
_MAY_NAME_IT = {
    "belay/aws/instances.py": "cites the guide that says which GPUs a task can get",
    "belay/cli/quotas.py": "says how many instances come from zero",
    "belay/policy/fitting.py": "cites the guide that says what a task can get of an instance",
    "belay/cli/commands/doctor.py": "looks for the role and the capacity without which a first run would fail",
    "belay/client/history.py": "says which service wrote a cause that it shortens",
}


def naming() -> set[str]:
    files = (file for folder in _FOLDERS for file in (REPOSITORY / folder).rglob("*") if file.is_file())
    texts = {str(file.relative_to(REPOSITORY)): file for file in files if file.suffix not in (".pyc", ".so")}
    return {name for name, file in texts.items() if _SERVICE.search(file.read_text(errors="replace"))}


def test_nothing_outside_the_back_end_names_its_service() -> None:
    outside = {name for name in naming() if not name.startswith(_IS_IT)}
    assert outside - _MAY_NAME_IT.keys() == set()


def test_no_exception_is_kept_that_is_none() -> None:
    assert _MAY_NAME_IT.keys() - naming() == set()


def test_the_back_end_itself_is_found() -> None:
    assert {"belay/aws/ecs.py", "belay/policy/ecs_words.py", "stacks/backends/ecs.py"} <= naming()
