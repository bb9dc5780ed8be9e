"""Saving while training goes on: a copy during the next forward and backward pass, then direct writes."""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from transformers import Trainer
from transformers.trainer import OPTIMIZER_NAME

from stallfree import direct, torch_layout, understood
from stallfree.events import Sink
from stallfree.flight import Flight
from stallfree.image import CannotOverlap, Image
from stallfree.manifest import Manifest
from stallfree.pages import available_bytes
from stallfree.parts import Model, identity_of, take_model_apart, write_small_files
from stallfree.publish import Publisher, best_of
from stallfree.ranks import Ranks
from stallfree.saver import PlainSaver, SaveFailed
from stallfree.store import Store
from stallfree.watch import Watch

logger = logging.getLogger(__name__)

_SHARE_OF_SPARE_MEMORY = 0.9
_WRITERS = 2


class OverlappedSaver:
    """One copy of the state, kept in memory as the files that it is to become.

    A save waits for the one before it, so there is never more than one copy, nor a queue. What cannot be laid out
    is saved by the PlainSaver, with one warning that says why.
    """

    def __init__(
        self,
        *,
        trainer: Trainer,
        store: Store,
        ranks: Ranks,
        keep: int | None,
        sink: Sink,
        clock: Callable[[], float] = time.perf_counter,
        spare_bytes: Callable[[], int] = available_bytes,
    ) -> None:
        self._plain = PlainSaver(trainer=trainer, store=store, ranks=ranks, keep=keep, sink=sink, clock=clock)
        self._trainer = trainer
        self._trainers_own_save = trainer._save_checkpoint
        self._store = store
        self._ranks = ranks
        self._publisher = Publisher(store=store, keep=keep, sink=sink)
        self._clock = clock
        self._spare_bytes = spare_bytes
        self._is_plain = False
        self._ground: _Ground | None = None
        self._flight: Flight | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="stallfree")
        # One more than write: the checksums.
        self._helpers = ThreadPoolExecutor(_WRITERS + 1, thread_name_prefix="stallfree-helper")

    def save(self) -> None:
        began = self._clock()
        self.drain()
        ground = self._current_ground()
        if ground is None:
            self._plain.save()
        else:
            self._begin(ground, began)

    def before_update(self) -> None:
        ground, flight = self._ground, self._flight
        if ground is None:
            return
        moved = ground.watch.moved()
        if flight is not None:
            flight.release(moved)
            began = self._clock()
            flight.copied.wait()
            flight.stall_seconds += self._clock() - began
            if flight.landed is not None and flight.landed.done():
                self.drain()
        ground.learn(moved)
        ground.was_watched = True

    def after_update(self) -> None:
        if self._ground is None and not self._is_plain:
            self._prepare()
        if self._ground is not None:
            self._ground.watch.note()

    def drain(self) -> None:
        flight, self._flight = self._flight, None
        if flight is not None and flight.landed is not None:
            flight.landed.result()

    def close(self) -> None:
        try:
            self.drain()
        except Exception:
            # Training ends for a reason of its own, or `drain` was not asked: this must not take its place.
            logger.exception("The last checkpoint that was begun was not saved.")
        self._worker.shutdown()
        self._helpers.shutdown()
        self._ground = None

    # ---- getting ready

    def _current_ground(self) -> "_Ground | None":
        """Where to copy to, laid out anew if the state is no longer what it was."""
        if not self._is_plain and (self._ground is None or not self._ground.still_fits(self._trainer)):
            self._prepare()
        if self._ground is not None:
            try:
                self._ground.ready.result()
            except (OSError, MemoryError) as error:
                self._go_plain(f"memory was refused: {error}")
        return self._ground

    def _prepare(self) -> None:
        # The memory of an earlier layout is given back before more is asked for.
        self._ground = None
        try:
            self._ground = self._laid_out()
        except CannotOverlap as reason:
            self._go_plain(str(reason))
        except Exception as error:
            logger.exception("Laying out the checkpoint failed.")
            self._go_plain(repr(error))

    def _laid_out(self) -> "_Ground":
        understood.check(self._trainer, self._ranks)
        model = take_model_apart(self._trainer)
        optimizer_bytes = _optimizer_bytes(self._trainer)
        needed, spare = sum(layout.size_bytes for layout in model.layouts) + optimizer_bytes, self._spare_bytes()
        if needed > spare * _SHARE_OF_SPARE_MEMORY:
            raise CannotOverlap(f"a copy of its state takes {needed} bytes of memory, and {spare} are to be had")
        ground = _Ground(model, optimizer_bytes)
        ground.ready = self._worker.submit(ground.take_memory)
        return ground

    def _go_plain(self, reason: str) -> None:
        self._is_plain = True
        self._ground = None
        logger.warning("Checkpoints are written while training waits: %s.", reason)

    # ---- one save

    def _begin(self, ground: "_Ground", began: float) -> None:
        step = self._trainer.state.global_step
        ground.learn(ground.watch.moved())
        try:
            self._store.stage(step)
            moment = write_small_files(self._trainer, self._trainers_own_save, self._store)
        except Exception as error:
            self._store.discard(step)
            raise SaveFailed(step, error) from error
        taken = ground.take_restless()
        ground.watch.note()
        flight = Flight(step, began, moment, best_of(self._trainer), taken, moved=ground.watch.moved)
        flight.stall_seconds = self._clock() - began
        flight.landed = self._worker.submit(self._fly, flight, ground)
        self._flight = flight

    def _fly(self, flight: Flight, ground: "_Ground") -> None:
        try:
            try:
                images = ground.copy(flight)
            finally:
                flight.copied.set()
            staged = self._store.staging / f"checkpoint-{flight.step}"
            ground.write_static(staged)
            flight.moment.write_state(staged)
            manifest = self._write_and_commit(flight, ground, images, staged)
        except Exception as error:
            self._store.discard(flight.step)
            raise SaveFailed(flight.step, error) from error
        if manifest is not None:
            self._publisher.committed(
                manifest,
                stall_seconds=flight.stall_seconds,
                durable_seconds=self._clock() - flight.began,
                protected=flight.protected,
            )

    def _write_and_commit(
        self, flight: Flight, ground: "_Ground", images: list[Image], staged: Path
    ) -> Manifest | None:
        sealed = [self._helpers.submit(image.seal) for image in images]
        described = []
        for image, seal in zip(images, sealed, strict=True):
            seal.result()
            described.append(self._helpers.submit(image.describe))
            direct.write_durably(staged / image.layout.name, image.whole_pages, image.layout.size_bytes, self._helpers)
        if spoiled := flight.spoiled():
            # Half of two moments: no checkpoint. From the next save on they are copied before training goes on.
            self._store.discard(flight.step)
            names = ", ".join(ground.names(spoiled))
            logger.warning("Step %s is not saved: %s changed before the optimizer's step.", flight.step, names)
            return None
        return self._store.commit(flight.step, [file.result() for file in described])


class _Ground:
    """What a layout needs from save to save: memory, and what is known of the weights."""

    def __init__(self, model: Model, optimizer_bytes: int) -> None:
        self.ready: Future[None] = Future()
        self.watch = Watch([source.tensor for source in model.sources])
        self.was_watched = False
        """From one update to the next: until then, any weight may be one that changes in between."""
        self._model = model
        self._optimizer_bytes = optimizer_bytes
        self._images = [Image() for _ in model.layouts]
        self._optimizer_image = Image()
        self._restless = {
            place
            for place, source in enumerate(model.sources)
            if source.tensor.untyped_storage().data_ptr() in model.restless
        }

    def still_fits(self, trainer: Trainer) -> bool:
        return identity_of(trainer) == self._model.identity and _optimizer_bytes(trainer) == self._optimizer_bytes

    def take_memory(self) -> None:
        for image, layout in zip(self._images, self._model.layouts, strict=True):
            image.lay_out(layout)
        self._optimizer_image.reserve(self._optimizer_bytes)

    def learn(self, moved: set[int]) -> None:
        self._restless |= moved

    def names(self, places: set[int]) -> list[str]:
        return [self._model.sources[place].name for place in sorted(places)]

    def take_restless(self) -> set[int]:
        """Copy now what cannot be copied later; the places of it."""
        places = self._restless if self.was_watched else set(range(len(self._model.sources)))
        self._take(lambda place: place in places)
        return set(places)

    def copy(self, flight: Flight) -> list[Image]:
        self._take(lambda place: place not in flight.taken)
        if flight.moment.optimizer is None:
            return self._images
        layout = torch_layout.layout_of(OPTIMIZER_NAME, flight.moment.optimizer)
        self._optimizer_image.lay_out(layout)
        self._optimizer_image.take(layout.sources)
        return [*self._images, self._optimizer_image]

    def write_static(self, folder: Path) -> None:
        for name, content in self._model.static.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)

    def _take(self, is_wanted: Callable[[int], bool]) -> None:
        place = 0
        for image in self._images:
            sources = image.layout.sources
            image.take(source for at, source in enumerate(sources, start=place) if is_wanted(at))
            place += len(sources)


def _optimizer_bytes(trainer: Trainer) -> int:
    if trainer.args.save_only_model:
        return 0
    return understood.plain_bytes(trainer.optimizer.state_dict())  # type: ignore[union-attr]
