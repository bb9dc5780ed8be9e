"""Makes the staging buffer when training begins, and again when its state changes; or says why there is none."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor

from stallfree.direct_io.memory import available_bytes
from stallfree.ranks import PeerFailed
from stallfree.saving import supported
from stallfree.saving.buffers import deepspeed, fsdp
from stallfree.saving.buffers.chunked_buffer import LEAST_BYTES, ChunkedBuffer
from stallfree.saving.buffers.model_layout import ModelLayout, plan_layout
from stallfree.saving.buffers.staging_buffer import StagingBuffer, optimizer_bytes_of
from stallfree.saving.context import SaverContext
from stallfree.saving.images.copies import copies_for
from stallfree.saving.images.layout import CannotOverlap

logger = logging.getLogger(__name__)

_SHARE_OF_SPARE_MEMORY = 0.9
_CHUNKED_BYTES = 64 * 1024 * 1024


class BufferSetup:
    """All processes of a training lay out together, or none of them does.

    slots: for how many copies of the state to take memory, if there is enough. worker: takes it, off the training
    thread. give_up: called before the memory of a layout is given back, so that nothing copies to it any more.
    """

    def __init__(
        self,
        context: SaverContext,
        *,
        slots: int,
        worker: Executor,
        give_up: Callable[[], None],
        most_bytes: int | None = None,
        spare_bytes: Callable[[], int] = available_bytes,
    ) -> None:
        self._trainer = context.trainer
        self._ranks = context.ranks
        self._slots = slots
        self._worker = worker
        self._give_up = give_up
        if most_bytes is not None and most_bytes < LEAST_BYTES:
            raise ValueError(f"most_staging_bytes={most_bytes} is too little: give at least {LEAST_BYTES}.")
        self._most_bytes = most_bytes
        self._spare_bytes = spare_bytes
        self._is_impossible = False
        self._warned: set[str] = set()
        self.buffer: StagingBuffer | None = None

    def begin(self) -> None:
        """After the first step, so that the first save finds its memory ready."""
        if self.buffer is None and not self._is_impossible:
            self.prepare()

    def current(self) -> StagingBuffer | None:
        """The buffer, laid out anew if the state has changed; None if that cannot be done."""
        if self._is_impossible:
            return None
        fits = self.buffer is not None and self.buffer.still_fits()
        # If one process must lay out anew, all do: they communicate in the same order.
        if self._ranks.any(not fits)[0]:
            self.prepare()
        if self.buffer is not None and not self.buffer.is_ready_everywhere:
            self._wait_for_memory(self.buffer)
        return self.buffer

    def prepare(self) -> None:
        # The memory of an earlier layout is given back before more is asked for.
        self._give_up()
        self.buffer, obstacle = None, None
        try:
            self.buffer = self._laid_out()
        except (CannotOverlap, PeerFailed) as reason:
            obstacle = str(reason)
        except Exception as error:
            logger.exception("Laying out the checkpoint failed.")
            obstacle = repr(error)
        self._all_can(obstacle)

    def warn_once(self, text: str) -> None:
        if self._ranks.is_first and text not in self._warned:
            self._warned.add(text)
            logger.warning(text)

    def _wait_for_memory(self, buffer: StagingBuffer) -> None:
        refusal = None
        try:
            buffer.ready.result()
        except (OSError, MemoryError) as error:
            refusal = f"memory was refused: {error}"
        buffer.is_ready_everywhere = self._all_can(refusal)

    def _all_can(self, obstacle: str | None) -> bool:
        """False if one process has an obstacle: then all fall back to PlainSaver, for a save needs all of them."""
        obstacles = [seen for seen in self._ranks.together(lambda: obstacle) if seen is not None]
        if obstacles:
            self._is_impossible, self.buffer = True, None
            self.warn_once(f"Checkpoints are written while training waits: {obstacles[0]}.")
        return not obstacles

    def _laid_out(self) -> StagingBuffer:
        if self._trainer.is_fsdp_enabled:
            buffer: StagingBuffer = fsdp.plan_buffer(
                self._trainer, self._ranks, lambda: supported.check(self._trainer), self.warn_once
            )
            # All processes of this machine take their memory at the same time.
            self._check_memory(buffer.size_bytes * fsdp.processes_here())
        elif self._trainer.is_deepspeed_enabled:
            if self._slots > 1:
                self.warn_once("There are no snapshots of steps: DeepSpeed's state is copied only when it saves.")
            buffer = deepspeed.plan_buffer(
                self._trainer,
                self._ranks,
                warn=self.warn_once,
                check_memory=lambda needed: self._check_memory(needed * fsdp.processes_here()),
                check_growth=self._check_growth,
            )
        else:
            supported.check(self._trainer)
            model = plan_layout(self._trainer)
            buffer = self._with(model, slots=self._slots)
            try:
                self._check_memory(buffer.size_bytes)
            except CannotOverlap as reason:
                buffer = self._chunked(model, reason)
        buffer.ready = self._worker.submit(buffer.take_memory)
        return buffer

    def _with(self, model: ModelLayout, *, slots: int) -> StagingBuffer:
        buffer = StagingBuffer(
            model,
            optimizer_bytes_of(self._trainer),
            copies=copies_for(supported.devices_of(self._trainer)),
            warn=self.warn_once,
            check_memory=self._check_growth,
            slots=slots,
        )
        if slots > 1 and self._is_too_much(buffer.size_bytes):
            self.warn_once(f"There are no snapshots of steps: they take {buffer.size_bytes} bytes of memory.")
            return self._with(model, slots=1)
        return buffer

    def _chunked(self, model: ModelLayout, reason: CannotOverlap) -> StagingBuffer:
        """A buffer of less memory than a copy takes, if there is that much."""
        if self._ranks.count > 1:
            # Only the first would wait for the disk, and the others for it, up to their time-out.
            raise reason
        buffer = ChunkedBuffer(
            model,
            self._most_bytes or _CHUNKED_BYTES,
            copies=copies_for(supported.devices_of(self._trainer)),
            warn=self.warn_once,
        )
        if self._is_too_much(buffer.size_bytes):
            raise reason
        through = f"its state is on the disk; it goes there through {buffer.size_bytes} bytes of memory"
        self.warn_once(f"Training waits at its next step until {through}: {reason}.")
        return buffer

    def _check_growth(self, growth: int) -> None:
        self._check_memory(growth, beside=self.buffer.size_bytes if self.buffer else 0)

    def _is_too_much(self, needed: int) -> bool:
        try:
            self._check_memory(needed)
        except CannotOverlap:
            return True
        return False

    def _check_memory(self, needed: int, *, beside: int = 0) -> None:
        if self._most_bytes is not None and needed + beside > self._most_bytes:
            raise CannotOverlap(
                f"a copy of its state takes {needed + beside} bytes, and at most {self._most_bytes} are allowed"
            )
        spare = self._spare_bytes()
        if needed > spare * _SHARE_OF_SPARE_MEMORY:
            raise CannotOverlap(f"a copy of its state takes {needed} bytes of memory, and {spare} are to be had")
