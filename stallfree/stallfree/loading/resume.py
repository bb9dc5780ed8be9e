"""Which checkpoint a training starts from."""

import logging
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import Search, first_whole, newest_first
from stallfree.checkpoint.store import step_of
from stallfree.events import PassedOver, Resumed, Sink
from stallfree.loading.content import Content
from stallfree.ranks import Ranks

logger = logging.getLogger(__name__)


class NothingWhole(ValueError):
    """Training was to resume, and there is no checkpoint that it may resume from."""


Read = Callable[[Path], Content]
"""Every byte of a checkpoint; NotWhole if one is not as it was saved."""


def choose(
    asked: str | PathLike[str] | bool | None,
    *,
    folders: Sequence[Path],
    always: bool,
    at_least: int,
    sink: Sink,
    ranks: Ranks,
    read: Read,
) -> Content | None:
    """What `Trainer.train(resume_from_checkpoint=asked)` should really start from, already read.

    A path is what the script begins with; in a run that already saved (`always`), what was saved goes before it.
    All processes call this, and get the same answer.
    """
    read = together(read, ranks)
    if asked is True or always:
        search = first_whole(ranks.from_first(lambda: newest_first(*folders)), read)
        for rejected in search.rejected:
            if ranks.is_first:
                logger.warning("%s is passed over: %s.", rejected.path, rejected.reason)
            sink(PassedOver(path=str(rejected.path), reason=rejected.reason))
        if at_least and (search.found is None or search.found.step < at_least):
            raise NothingWhole(_refusal(at_least, search))
        if search.found:
            sink(Resumed(step=search.found.step, source=str(search.found.path)))
            return search.found.content
        if asked is True and not always:
            raise NothingWhole(_nothing_in(folders, search))
    return _as_given(Path(asked), read, sink, ranks) if isinstance(asked, str | PathLike) else None


def together(read: Read, ranks: Ranks) -> Read:
    """All processes find a checkpoint whole, or none of them trains from it."""

    def read_together(folder: Path) -> Content:
        content = Content(folder)

        def attempt() -> str:
            nonlocal content
            try:
                content = read(folder)
            except manifest.NotWhole as fault:
                # Only its text: the error would keep this checkpoint in memory while the next one is read.
                return str(fault)
            return ""

        if faults := [fault for fault in ranks.together(attempt) if fault]:
            raise manifest.NotWhole(faults[0])
        return content

    return read_together


def _refusal(at_least: int, search: Search[Content]) -> str:
    return f"Training was to resume from step {at_least}, but {_faults(search) or 'no checkpoint is there'}."


def _nothing_in(folders: Sequence[Path], search: Search[Content]) -> str:
    text = f"No whole checkpoint in {', '.join(map(str, folders))}."
    if search.rejected:
        text += f" {_faults(search)}. One that was saved without a manifest is resumed from by its path."
    return text


def _faults(search: Search[Content]) -> str:
    return "; ".join(f"{rejected.path.name}: {rejected.reason}" for rejected in search.rejected)


def _as_given(path: Path, read: Read, sink: Sink, ranks: Ranks) -> Content:
    content = Content(path)
    if ranks.from_first((path / manifest.NAME).exists):
        try:
            content = read(path)
        except manifest.NotWhole as fault:
            raise NothingWhole(f"{path} cannot be resumed from: {fault}.") from fault
    sink(Resumed(step=step_of(path) or 0, source=str(path)))
    return content
