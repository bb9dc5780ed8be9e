"""The Lambdas of an earlier version: their own code, imported beside this version's."""

import importlib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.proofs.model.functions import Code
from tools.repository import REPOSITORY

_ROOTS = ("belay", "lambdas")
# As in stacks/functions/factory.py: what only the command line uses is not deployed.
_NOT_DEPLOYED = ("belay/cli/", "belay/client/", "belay/report/")
# By the model, while a handler runs.
_TAKEN_OVER = ("clock", "ecs", "telemetry")


def deployed_code() -> dict[str, str]:
    """What is deployed of this version, by path."""
    files = [file for root in _ROOTS for file in sorted((REPOSITORY / root).rglob("*.py"))]
    texts = {file.relative_to(REPOSITORY).as_posix(): file.read_text() for file in files}
    return {path: text for path, text in texts.items() if not path.startswith(_NOT_DEPLOYED)}


def earlier_lambdas(code: Mapping[str, str]) -> Code:
    """What a running execution asks after a deployment: the versions of the functions that its definition names."""
    handlers = [path.removesuffix(".py").replace("/", ".") for path, text in code.items() if _is_handler(path, text)]
    with TemporaryDirectory() as folder:
        for path, text in code.items():
            file = Path(folder) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        with _importing_from(folder):
            clock, ecs, telemetry = (importlib.import_module(f"belay.aws.{name}") for name in _TAKEN_OVER)
            modules = {name.rpartition(".")[2]: importlib.import_module(name) for name in handlers}
    return Code(clock, ecs, telemetry, modules.__getitem__)


def _is_handler(path: str, text: str) -> bool:
    return path.startswith("lambdas/") and "\ndef handler(" in text


@contextmanager
def _importing_from(folder: str) -> Iterator[None]:
    """Python has one module of a name: this version's are set aside meanwhile, and theirs afterwards."""
    ours = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in _ROOTS}
    for name in ours:
        del sys.modules[name]
    sys.path.insert(0, folder)
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(folder)
        for name in [name for name in sys.modules if name.partition(".")[0] in _ROOTS]:
            del sys.modules[name]
        sys.modules.update(ours)
