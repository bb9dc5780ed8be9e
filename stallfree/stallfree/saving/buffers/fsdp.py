"""FSDP2: each process copies and writes its own shards, into files that `torch.distributed.checkpoint` (DCP) loads.

DCP plans once who writes what. From then on a save needs no other process until its end: the shards stand in a file of
the process, each as `torch.save` writes it, and DCP's own metadata says where.
"""

import io
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from accelerate.utils.constants import FSDP_MODEL_NAME, OPTIMIZER_NAME
from torch.distributed.checkpoint.default_planner import DefaultSavePlanner
from torch.distributed.checkpoint.filesystem import FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import WriteItem, WriteItemType
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, get_optimizer_state_dict
from torch.distributed.checkpoint.storage import WriteResult
from torch.distributed.tensor import DTensor
from transformers import Trainer

from stallfree.internals.pytorch import place_in_file
from stallfree.ranks import Ranks
from stallfree.saving import supported
from stallfree.saving.buffers.model_layout import ModelLayout
from stallfree.saving.buffers.staging_buffer import StagingBuffer
from stallfree.saving.images import torch_layout
from stallfree.saving.images.copies import copies_for
from stallfree.saving.images.image import Image
from stallfree.saving.images.layout import CannotOverlap, Content, Layout
from stallfree.saving.save_in_progress import SaveInProgress

_GROUPS = f"{OPTIMIZER_NAME}.param_groups."


@dataclass(frozen=True)
class Folder:
    """One checkpoint of DCP: the model's, or the optimizer's."""

    name: str
    layout: Layout
    """This process's file."""
    metadata: Metadata
    shards: list[list[WriteResult]]
    """Where every process's shards stand."""
    objects: list[tuple[WriteItem, Any]]
    """What is not a tensor, as it was when this was laid out. Only the first process writes any."""


class FsdpBuffer(StagingBuffer):
    def __init__(
        self,
        trainer: Trainer,
        folders: list[Folder],
        ranks: Ranks,
        *,
        warn: Callable[[str], None],
    ) -> None:
        layouts = tuple(_with_objects(folder, trainer.optimizer.param_groups)[0] for folder in folders)  # type: ignore[union-attr]
        buffers = frozenset(_memory_of(buffer) for buffer in supported.bare_model(trainer).buffers())
        identity = _identity_of(trainer)
        model = ModelLayout(
            layouts, static={}, volatile=buffers, is_unchanged=lambda: _identity_of(trainer) == identity
        )
        copies = copies_for(supported.devices_of(trainer))
        super().__init__(model, 0, copies=copies, warn=warn)
        self._folders = folders
        self._is_first = ranks.is_first
        self._object_places: dict[str, list[WriteResult]] = {}

    def copy(self, save: SaveInProgress, staged: Path) -> list[Image]:
        images = super().copy(save, staged)
        for folder, image in zip(self._folders, images, strict=True):
            layout, self._object_places[folder.name] = _with_objects(folder, save.captured.groups)
            if folder.objects:
                image.lay_out(layout)
        return images

    def write_static(self, folder: Path) -> None:
        for part in self._folders:
            (folder / part.name).mkdir(parents=True, exist_ok=True)
            if self._is_first:
                results = [*part.shards, self._object_places[part.name]]
                FileSystemWriter(folder / part.name).finish(part.metadata, results)


def plan_buffer(
    trainer: Trainer,
    ranks: Ranks,
    ready: Callable[[], None],
    warn: Callable[[str], None],
) -> FsdpBuffer:
    """The plan of all processes together. What `ready` raises in one of them is raised in all."""
    options = StateDictOptions()

    def model() -> Mapping[str, Any]:
        ready()
        return {"model": get_model_state_dict(trainer.model, options=options)}  # type: ignore[arg-type]  # there is one

    def optimizer() -> Mapping[str, Any]:
        return {"optimizer": get_optimizer_state_dict(trainer.model, trainer.optimizer, options=options)}  # type: ignore[arg-type]

    folders = [
        _plan(f"{FSDP_MODEL_NAME}_0", model, ranks),
        _plan(f"{OPTIMIZER_NAME}_0", optimizer, ranks),
    ]
    return FsdpBuffer(trainer, folders, ranks, warn=warn)


def processes_here() -> int:
    """How many share this machine's memory."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _plan(name: str, state: Callable[[], Mapping[str, Any]], ranks: Ranks) -> Folder:
    # The first process writes what all have (settings, counts of steps, buffers).
    planner = DefaultSavePlanner(dedup_save_to_lowest_rank=True)

    def propose() -> Any:
        planner.set_up_planner(dict(state()), None, ranks.is_first)
        return planner.create_local_plan()

    plans, metadata = planner.create_global_plan(ranks.together(propose))
    laid_out: list[Layout] = []
    objects: list[tuple[WriteItem, Any]] = []

    def lay_out() -> list[WriteResult]:
        items = planner.finish_plan(plans[ranks.number]).items
        objects.extend((item, planner.lookup_object(item.index)) for item in items if _is_object(item))
        for item, _ in objects:
            if not item.index.fqn.startswith(_GROUPS):
                raise CannotOverlap(f"{item.index.fqn} is no tensor")
        layout, results = _file(f"{name}/__{ranks.number}_0.distcp", planner, items)
        laid_out.append(layout)
        return results

    shards = ranks.together(lay_out)
    return Folder(name, laid_out[0], metadata, shards, objects)


def _file(name: str, planner: DefaultSavePlanner, items: list[WriteItem]) -> tuple[Layout, list[WriteResult]]:
    """One record of `torch.save` for each shard, one after the other."""
    records: list[tuple[int, Layout]] = []
    results: list[WriteResult] = []
    end = 0
    for item in items:
        if _is_object(item):
            continue
        tensor = planner.resolve_data(item)
        assert isinstance(tensor, torch.Tensor), "what is no object is a tensor"
        record = torch_layout.layout_of("archive", tensor.detach())
        records.append((end, _named(record, item.index.fqn, tensor)))
        results.append(_result(item, name, end, record.size_bytes))
        end += record.size_bytes
    return _joined(name, end, records), results


def _named(record: Layout, name: str, tensor: torch.Tensor) -> Layout:
    return replace(record, sources=tuple(replace(source, name=name, counting=tensor) for source in record.sources))


def _joined(name: str, size_bytes: int, records: list[tuple[int, Layout]]) -> Layout:
    def seal(content: Content) -> Iterator[int]:
        for begin, record in records:
            for end in record.seal(content[begin : begin + record.size_bytes]):
                yield begin + end
        yield len(content)

    return Layout(
        name=name,
        size_bytes=size_bytes,
        fixed=tuple((begin + at, content) for begin, record in records for at, content in record.fixed),
        sources=tuple(
            replace(source, offset=begin + source.offset) for begin, record in records for source in record.sources
        ),
        seal=seal,
    )


def _with_objects(folder: Folder, groups: list[dict[str, Any]]) -> tuple[Layout, list[WriteResult]]:
    """The file with the optimizer's settings at its end: they (the learning rate) change from save to save."""
    end, fixed, results = folder.layout.size_bytes, list(folder.layout.fixed), []
    for item, first_value in folder.objects:
        number, key = item.index.fqn.removeprefix(_GROUPS).split(".", 1)
        # The plan has the parameters by name, the groups as tensors.
        value = first_value if key == "params" else groups[int(number)][key]
        written = io.BytesIO()
        torch.save(value, written)
        fixed.append((end, written.getvalue()))
        results.append(_result(item, folder.layout.name, end, written.tell()))
        end += written.tell()
    return replace(folder.layout, size_bytes=end, fixed=tuple(fixed)), results


def _result(item: WriteItem, file: str, offset: int, length: int) -> WriteResult:
    return WriteResult(item.index, length, place_in_file(Path(file).name, offset, length))


def _is_object(item: WriteItem) -> bool:
    return bool(item.type == WriteItemType.BYTE_IO)


def _identity_of(trainer: Trainer) -> tuple[Any, ...]:
    """Changes when shards are replaced."""
    model, optimizer = supported.bare_model(trainer), trainer.optimizer
    assert optimizer is not None, "there is one while training"
    weights = (_place_of(tensor) for tensor in (*model.parameters(), *model.buffers()))
    moments = (
        (key, _place_of(value) if isinstance(value, torch.Tensor) else None)
        for state in optimizer.state.values()
        for key, value in state.items()
    )
    return (*weights, *moments, *(tuple(group) for group in optimizer.param_groups))


def _place_of(tensor: torch.Tensor) -> tuple[Any, ...]:
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return local.data_ptr(), local.shape, local.dtype


def _memory_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
