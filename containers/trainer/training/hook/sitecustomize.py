"""Python imports this when it starts, in every process of the training: scripts, launchers and what they start."""

import importlib
import importlib.machinery
import importlib.util
import os
import sys
from pathlib import Path


def _import_the_one_we_hide() -> None:
    """The Python of this machine may have a sitecustomize of its own (Debian's has)."""
    elsewhere = [path for path in sys.path if Path(path or ".").resolve() != Path(__file__).parent]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", elsewhere)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_import_the_one_we_hide()
if "BELAY_HOOK" in os.environ:
    importlib.import_module("belay_hook.start").begin()
