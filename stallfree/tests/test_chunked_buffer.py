"""With little memory a state goes to the disk through a part of it: the same files, of the same moment."""

import logging
import mmap
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch
from killing import kill_everywhere
from stallfree.cadence import EverySteps
from stallfree.checkpoint import manifest
from stallfree.checkpoint.search import newest_whole
from stallfree.direct_io import memory, writing
from stallfree.saving.buffers.chunked_buffer import LEAST_BYTES
from stallfree.saving.buffers.chunked_file import PARTS
from stallfree.saving.context import SaverContext
from stallfree.saving.overlapped import OverlappedSaver
from stallfree.saving.saver import SaveFailed
from watching import PLAINLY, At, Noting, fast, files_of_each_saver


class ThroughLittle(OverlappedSaver):
    """A copy of this state takes about 100 kB."""

    def __init__(self, context: SaverContext) -> None:
        super().__init__(context, most_staging_bytes=LEAST_BYTES)


def test_every_file_is_the_one_that_the_trainer_writes(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files_of_each_saver(make_trainer, lambda trainer: None, out, overlapped=ThroughLittle)
    assert PLAINLY not in caplog.text and "while PyTorch writes" not in caplog.text


@pytest.mark.parametrize("most_bytes", [LEAST_BYTES, 3 * LEAST_BYTES - 1, 5_000_000])
def test_no_more_memory_is_taken_than_is_allowed(
    most_bytes: int, make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[int, int] = {}
    most_held, take = [0], memory.take

    def taken(size: int) -> mmap.mmap:
        got = take(size)
        held[id(got)] = len(got)
        weakref.finalize(got, held.pop, id(got))
        most_held.append(sum(held.values()))
        return got

    monkeypatch.setattr(memory, "take", taken)
    noting = Noting()
    saves = fast(make_saver=lambda context: OverlappedSaver(context, most_staging_bytes=most_bytes))
    trainer = make_trainer(saves, noting)
    if most_bytes > 1_000_000:
        trainer.optimizer = Heavy(trainer.model.parameters())
    trainer.train()
    noting.assert_saved(out, 8, 16, 24)
    assert most_bytes / 2 < max(most_held) <= most_bytes


class Heavy(torch.optim.SGD):
    """Keeps more than is allowed in one piece."""

    def __init__(self, parameters: Any) -> None:
        super().__init__(parameters, lr=0.1)
        self.state[self.param_groups[0]["params"][0]]["kept"] = torch.rand(3_000_000)


class Growing(torch.optim.SGD):
    """Keeps half a megabyte more before each save."""

    def step(self, closure: Any = None) -> Any:
        kept = self.state[self.param_groups[0]["params"][0]]
        kept["steps"] = kept.get("steps", 0) + 1
        if kept["steps"] % 8 == 1:
            kept[f"more {kept['steps']}"] = torch.rand(125_000)
        return super().step(closure)


def test_an_optimizer_that_grows_again_and_again_does_not_outgrow_what_is_allowed(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    saves = fast(make_saver=lambda context: OverlappedSaver(context, most_staging_bytes=1_300_000))
    noting = Noting()
    trainer = make_trainer(saves, noting)
    trainer.optimizer = Growing(trainer.model.parameters(), lr=0.1)
    trainer.train()
    noting.assert_saved(out, 8, 16, 24)
    assert "at most 1300000 are allowed" in caplog.text and PLAINLY not in caplog.text


def test_the_optimizers_step_waits_until_the_weights_before_it_are_copied(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_gone_on, write = threading.Event(), writing.write
    slowly: list[int] = []

    def write_slowly(handle: int, chunk: memoryview, at: int) -> None:
        # Training goes on while this is written, as far as it may.
        assert has_gone_on.wait(60)
        slowly.append(at)
        threading.Event().wait(0.005)
        write(handle, chunk, at)

    begins = At("on_step_begin", {8}, lambda **_: has_gone_on.set())
    monkeypatch.setattr(writing, "write", write_slowly)
    noting = Noting()
    make_trainer(fast(make_saver=ThroughLittle), noting, begins).train()
    noting.assert_saved(out, 8, 16, 24)
    assert len(slowly) > 3 * 2 * PARTS, "the memory was used again"


def test_weights_that_every_forward_pass_changes_hold_training_until_they_are_copied(
    make_trainer: Any, out: Path, caplog: pytest.LogCaptureFixture
) -> None:
    noting = Noting()
    trainer = make_trainer(fast(cadence=EverySteps(3), make_saver=ThroughLittle), noting, max_steps=9)

    def change(module: torch.nn.Module, *_: Any) -> None:
        with torch.no_grad():
            trainer.model.transformer.ln_f.bias.add_(1)

    trainer.model.register_forward_pre_hook(change)
    trainer.train()
    noting.assert_saved(out, 3, 6, 9)
    assert "changed before" not in caplog.text


def test_killed_anywhere_it_leaves_only_whole_checkpoints(make_trainer: Any, out: Path) -> None:
    found: set[int] = set()

    def train() -> None:
        make_trainer(fast(cadence=EverySteps(1), make_saver=ThroughLittle), max_steps=2).train()

    def check() -> None:
        search = newest_whole(out)
        assert search.rejected == [], "only whole checkpoints ever stand there"
        found.add(search.found.step if search.found else 0)
        for checkpoint in out.glob("checkpoint-*"):
            manifest.verify(checkpoint)
            checkpoint.rename(out.parent / f"looked-at-{checkpoint.name}-{len(list(out.parent.iterdir()))}")

    lines = kill_everywhere(train, check, stride=1999)
    check()
    assert lines > 10_000, "the kills must have reached into the writing"
    assert {0, 2} <= found <= {0, 1, 2}


def test_a_fault_of_the_disk_ends_training_and_leaves_the_checkpoints_before_it(
    make_trainer: Any, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, writes = writing.write, [0]

    def fail_later(*args: Any) -> None:
        writes[0] += 1
        if writes[0] > 25:
            raise OSError(28, "No space left on device")
        write(*args)

    monkeypatch.setattr(writing, "write", fail_later)
    with pytest.raises(SaveFailed, match="No space left on device"):
        make_trainer(fast(make_saver=ThroughLittle)).train()
    assert [path.name for path in out.glob("checkpoint-*")] == ["checkpoint-8"]
    assert list((out / ".staging").iterdir()) == []


@pytest.mark.parametrize(
    ("spare_bytes", "most_bytes", "said"),
    [
        (90_000, LEAST_BYTES, f"through {LEAST_BYTES} bytes of memory: a copy of its state takes"),
        (10**9, 50_000, "and at most 50000 are allowed"),
        (10_000, LEAST_BYTES, PLAINLY),
        (10**9, 10**8, None),
    ],
)
def test_which_way_it_goes_and_why_is_said_once(
    spare_bytes: int,
    most_bytes: int,
    said: str | None,
    make_trainer: Any,
    out: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def make(context: SaverContext) -> OverlappedSaver:
        return OverlappedSaver(context, most_staging_bytes=most_bytes, spare_bytes=lambda: spare_bytes)

    noting = Noting()
    with caplog.at_level(logging.WARNING):
        make_trainer(fast(make_saver=make), noting).train()
    noting.assert_saved(out, 8, 16, 24)
    assert [said in line for line in caplog.messages] == [True] if said else caplog.messages == []


def test_less_than_a_page_for_each_part_is_refused(make_trainer: Any) -> None:
    saves = fast(make_saver=lambda context: OverlappedSaver(context, most_staging_bytes=LEAST_BYTES - 1))
    with pytest.raises(ValueError, match=f"most_staging_bytes={LEAST_BYTES - 1} is too little: give at least"):
        make_trainer(saves).train()
