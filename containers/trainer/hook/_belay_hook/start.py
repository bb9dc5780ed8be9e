"""At the start of a Python process (_belay_hook.pth): imports next to nothing, and waits for the Trainer."""

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
    _keep_first_error(settings.first_error)
    sys.meta_path.insert(0, _WaitForTrainer())


class _WaitForTrainer(importlib.abc.MetaPathFinder):
    """Installs the callback right after `transformers.trainer` was imported, before anyone can use it."""

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


def _keep_first_error(file: Path) -> None:
    """The exception that ends a process is why the run failed: the supervisor reads it here, in one sentence."""
    shown_by = sys.excepthook

    def keep(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        # Only the first: it is what made the others fail.
        if not file.exists():
            file.write_text(f"{kind.__name__}: {error}"[:2000])
        shown_by(kind, error, trace)

    sys.excepthook = keep
