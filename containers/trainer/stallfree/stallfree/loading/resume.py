"""Which checkpoint a training starts from."""

from collections.abc import Sequence
from pathlib import Path

from stallfree.checkpoint import manifest
from stallfree.checkpoint.reading import Search, newest_whole
from stallfree.checkpoint.store import step_of
from stallfree.events import PassedOver, Resumed, Sink


class NothingWhole(ValueError):
    """Training was to resume, and there is no checkpoint that it may resume from."""


def choose(
    asked: str | bool | None, *, folders: Sequence[Path], always: bool, at_least: int, sink: Sink
) -> Path | None:
    """What `Trainer.train(resume_from_checkpoint=asked)` should really start from.

    A path is what the script begins with; in a run that already saved (`always`), what was saved goes before it.
    """
    if asked is True or always:
        search = newest_whole(*folders)
        for passed in search.passed_over:
            sink(PassedOver(path=str(passed.path), reason=passed.reason))
        if at_least and (search.found is None or search.found.step < at_least):
            raise NothingWhole(_refusal(at_least, search))
        if search.found:
            sink(Resumed(step=search.found.step, source=str(search.found.path)))
            return search.found.path
        if asked is True and not always:
            raise NothingWhole(f"No whole checkpoint in {', '.join(map(str, folders))}.")
    return _as_given(Path(asked), sink) if isinstance(asked, str) else None


def _refusal(at_least: int, search: Search) -> str:
    faults = [f"{passed.path.name}: {passed.reason}" for passed in search.passed_over]
    return f"Training was to resume from step {at_least}, but " + ("; ".join(faults) or "no checkpoint is there") + "."


def _as_given(path: Path, sink: Sink) -> Path:
    if (path / manifest.NAME).exists():
        try:
            manifest.verify(path)
        except manifest.NotWhole as fault:
            raise NothingWhole(f"{path} cannot be resumed from: {fault}.") from fault
    sink(Resumed(step=step_of(path) or 0, source=str(path)))
    return path
