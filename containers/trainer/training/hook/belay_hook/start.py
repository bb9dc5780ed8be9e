"""At the start of a Python process: nothing is imported yet, so this only waits for what matters."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, TracebackType

from .settings import ENVIRONMENT_VARIABLE, HookSettings

_AWAITED = "transformers.trainer"


def begin() -> None:
    settings = HookSettings.from_json(os.environ[ENVIRONMENT_VARIABLE])
    _keep_last_words(settings.last_words)
    sys.meta_path.insert(0, _Wait())


class _Wait(importlib.abc.MetaPathFinder):
    """Acts right after `transformers.trainer` was imported, before anyone can use it."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _AWAITED:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenInstall(spec.loader)
        return spec


class _ThenInstall(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        from .trainer_callback import BelayCheckpoints

        # Every Trainer makes one of each class in this list, before the callbacks that a script gives it.
        module.DEFAULT_CALLBACKS.append(BelayCheckpoints)


def _keep_last_words(file: Path) -> None:
    """The exception that ends a process is why the run failed: let the supervisor know it in one sentence."""
    shown = sys.excepthook

    def keep(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # The first one counts: it is what made the others fail.
        if not file.exists():
            file.write_text(f"{kind.__name__}: {error}"[:2000])
        shown(kind, error, trace)

    sys.excepthook = keep
