"""The ground of saves: laid out when training begins, anew when its state changes, or never, and then why."""

import logging
from collections.abc import Callable
from concurrent.futures import Executor

from stallfree.images.layout import CannotOverlap
from stallfree.images.staging import copies_for
from stallfree.memory import available_bytes
from stallfree.ranks import PeerFailed
from stallfree.saving import understood
from stallfree.saving.assignment import Assignment
from stallfree.saving.grounds import caught, sharded
from stallfree.saving.grounds.ground import Ground, optimizer_bytes_of
from stallfree.saving.grounds.parts import Model, take_model_apart
from stallfree.saving.grounds.passing_ground import LEAST_BYTES, PassingGround

logger = logging.getLogger(__name__)

_SHARE_OF_SPARE_MEMORY = 0.9
_PASSING_BYTES = 64 * 1024 * 1024


class Preparing:
    """All processes of a training lay out together, or none of them does.

    slots: how many copies of the state there is to be memory for, if there is enough. worker: takes the memory, off the
    training thread. give_up: called before the memory of a layout goes, so that nobody copies to it any more.
    """

    def __init__(
        self,
        task: Assignment,
        *,
        slots: int,
        worker: Executor,
        give_up: Callable[[], None],
        most_bytes: int | None = None,
        spare_bytes: Callable[[], int] = available_bytes,
    ) -> None:
        self._trainer = task.trainer
        self._ranks = task.ranks
        self._slots = slots
        self._worker = worker
        self._give_up = give_up
        if most_bytes is not None and most_bytes < LEAST_BYTES:
            raise ValueError(f"most_staging_bytes={most_bytes} is too little: give at least {LEAST_BYTES}.")
        self._most_bytes = most_bytes
        self._spare_bytes = spare_bytes
        self._is_impossible = False
        self._warned: set[str] = set()
        self.ground: Ground | None = None

    def begin(self) -> None:
        """So early that the first save finds everything in place."""
        if self.ground is None and not self._is_impossible:
            self.prepare()

    def current(self) -> Ground | None:
        """Where to copy to, laid out anew if the state is no longer what it was; None if that cannot be done."""
        if self._is_impossible:
            return None
        fits = self.ground is not None and self.ground.still_fits()
        # Where one must lay out anew, all do: they answer the same questions in the same order.
        if self._ranks.any(not fits)[0]:
            self.prepare()
        if self.ground is not None and not self.ground.is_ready_everywhere:
            self._wait_for_memory(self.ground)
        return self.ground

    def prepare(self) -> None:
        # The memory of an earlier layout is given back before more is asked for.
        self._give_up()
        self.ground, obstacle = None, None
        try:
            self.ground = self._laid_out()
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

    def _wait_for_memory(self, ground: Ground) -> None:
        refusal = None
        try:
            ground.ready.result()
        except (OSError, MemoryError) as error:
            refusal = f"memory was refused: {error}"
        ground.is_ready_everywhere = self._all_can(refusal)

    def _all_can(self, obstacle: str | None) -> bool:
        """Unless one process sees an obstacle: then all go plain, for a save that some only wait for never ends."""
        obstacles = [seen for seen in self._ranks.together(lambda: obstacle) if seen is not None]
        if obstacles:
            self._is_impossible, self.ground = True, None
            self.warn_once(f"Checkpoints are written while training waits: {obstacles[0]}.")
        return not obstacles

    def _laid_out(self) -> Ground:
        if self._trainer.is_fsdp_enabled:
            ground: Ground = sharded.take_apart(
                self._trainer, self._ranks, lambda: understood.check(self._trainer), self.warn_once
            )
            # All processes of this machine take theirs at the same time.
            self._check_memory(ground.size_bytes * sharded.processes_here())
        elif self._trainer.is_deepspeed_enabled:
            if self._slots > 1:
                self.warn_once("There are no snapshots of steps: DeepSpeed's state is copied only when it saves.")
            ground = caught.take_apart(
                self._trainer,
                self._ranks,
                warn=self.warn_once,
                check_memory=lambda needed: self._check_memory(needed * sharded.processes_here()),
                check_growth=self._check_growth,
            )
        else:
            understood.check(self._trainer)
            model = take_model_apart(self._trainer)
            ground = self._with(model, slots=self._slots)
            try:
                self._check_memory(ground.size_bytes)
            except CannotOverlap as reason:
                ground = self._passing(model, reason)
        ground.ready = self._worker.submit(ground.take_memory)
        return ground

    def _with(self, model: Model, *, slots: int) -> Ground:
        ground = Ground(
            model,
            optimizer_bytes_of(self._trainer),
            copies=copies_for(understood.devices_of(self._trainer)),
            warn=self.warn_once,
            check_memory=self._check_growth,
            slots=slots,
        )
        if slots > 1 and self._is_too_much(ground.size_bytes):
            self.warn_once(f"There are no snapshots of steps: they take {ground.size_bytes} bytes of memory.")
            return self._with(model, slots=1)
        return ground

    def _passing(self, model: Model, reason: CannotOverlap) -> Ground:
        """Through a part of the memory that a copy would take, if there is so much."""
        if self._ranks.count > 1:
            # The first alone would wait for the disk, and the others for it: no longer than their time-out.
            raise reason
        ground = PassingGround(
            model,
            self._most_bytes or _PASSING_BYTES,
            copies=copies_for(understood.devices_of(self._trainer)),
            warn=self.warn_once,
        )
        if self._is_too_much(ground.size_bytes):
            raise reason
        # Each save, at the optimizer's next step.
        through = f"its state is on the disk; it goes there through {ground.size_bytes} bytes of memory"
        self.warn_once(f"Training waits at its next step until {through}: {reason}.")
        return ground

    def _check_growth(self, growth: int) -> None:
        self._check_memory(growth, beside=self.ground.size_bytes if self.ground else 0)

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
