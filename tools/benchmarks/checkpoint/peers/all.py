"""Every way of saving that is compared, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from tools.benchmarks.checkpoint.peers import dcp, meta, ours, trainers_own, with_torch_save
from tools.benchmarks.checkpoint.peers.way import Way


@dataclass(frozen=True)
class Entry:
    title: str
    make: Callable[[], Way]
    is_rival: bool = False
    """One of those that ours is held to: libraries made for this."""
    why_not: Callable[[], str] = lambda: ""
    """Why it cannot run here, and what to do about it."""


def _without_meta() -> str:
    return "" if meta.is_installed() else f"not installed: {meta.HOW_TO_INSTALL}"


def _dcp_async(in_process: bool, best: bool) -> Callable[[], Way]:
    return lambda: dcp.AsyncSave(in_process, best)


WAYS = {
    "none": Entry("no save: the noise", trainers_own.Nothing),
    "trainer": Entry("Trainer, default", trainers_own.TrainersOwn),
    "overlapped": Entry("stallfree, overlapped", ours.overlapped),
    "plain": Entry("stallfree, plain", ours.plain),
    "dcp": Entry("DCP save, default", lambda: dcp.Save(best=False), is_rival=True),
    "dcp-best": Entry("DCP save, best", lambda: dcp.Save(best=True), is_rival=True),
    "dcp-thread": Entry("DCP async_save, thread, default", _dcp_async(False, False), is_rival=True),
    "dcp-thread-best": Entry("DCP async_save, thread, best", _dcp_async(False, True), is_rival=True),
    "dcp-process": Entry("DCP async_save, process, default", _dcp_async(True, False), is_rival=True),
    "dcp-process-best": Entry("DCP async_save, process, best", _dcp_async(True, True), is_rival=True),
    "meta": Entry(
        "torch_checkpointing, default", lambda: meta.TorchCheckpointing(best=False), True, why_not=_without_meta
    ),
    "meta-best": Entry(
        "torch_checkpointing, best", lambda: meta.TorchCheckpointing(best=True), True, why_not=_without_meta
    ),
    "thread": Entry("torch.save in a thread, new copy", lambda: with_torch_save.CopyThenThread(keep=False)),
    "thread-best": Entry("torch.save in a thread, kept copy", lambda: with_torch_save.CopyThenThread(keep=True)),
    "fork": Entry("fork, then torch.save", with_torch_save.Fork),
    "checksums": Entry("stallfree, every other save without checksums", ours.WithoutEveryOtherChecksum),
}
