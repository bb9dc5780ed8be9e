"""Where saves copy to: memory laid out as files, and what is known of the weights that they come from."""

from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from transformers import Trainer
from transformers.trainer import OPTIMIZER_NAME

from stallfree.saving import torch_layout, understood
from stallfree.saving.flight import Flight
from stallfree.saving.image import CannotOverlap, Image
from stallfree.saving.parts import Model, identity_of
from stallfree.saving.watch import Watch


class Ground:
    """What a layout needs from save to save: memory, and what is known of the weights."""

    def __init__(self, model: Model, optimizer_bytes: int) -> None:
        self.ready: Future[None] = Future()
        self.watch = Watch([source.tensor for source in model.sources])
        self.is_ready_everywhere = False
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

    @property
    def size_bytes(self) -> int:
        return sum(layout.size_bytes for layout in self._model.layouts) + self._optimizer_bytes

    def still_fits(self, trainer: Trainer) -> bool:
        try:
            return identity_of(trainer) == self._model.identity and optimizer_bytes_of(trainer) == self._optimizer_bytes
        except CannotOverlap:
            return False

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


def optimizer_bytes_of(trainer: Trainer) -> int:
    if trainer.args.save_only_model or not trainer.args.should_save:
        return 0
    return understood.plain_bytes(trainer.optimizer.state_dict())  # type: ignore[union-attr]
