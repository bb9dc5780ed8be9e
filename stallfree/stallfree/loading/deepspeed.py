"""A DeepSpeed checkpoint, loaded by more or fewer processes than saved it: DeepSpeed converts it first.

Each process of ZeRO has a part of the optimizer, and DeepSpeed loads them by as many as there are. Its universal format
can be loaded by any number; the Trainer alone knows nothing of it.
"""

import logging
import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
import transformers.trainer
from transformers import Trainer

from stallfree.internals.replacing import replaced_in
from stallfree.ranks import Ranks

logger = logging.getLogger(__name__)

_OPTIMIZER = "*_optim_states.pt"
_PART = re.compile(r"(?:bf16_)?zero_pp_rank_([0-9]+)_mp_rank_00_optim_states\.pt")


class OtherNumberOfProcesses(ValueError):
    """A checkpoint was saved by another number of processes, and cannot be converted for this one."""


@contextmanager
def loading_any_count(trainer: Trainer, scratch: Path, ranks: Ranks) -> Iterator[None]:
    """While training runs, what DeepSpeed loads for the Trainer may be what another number of processes saved.

    It is converted in a folder of the scratch folder, which all processes see and which the next training empties.
    """
    if not trainer.is_deepspeed_enabled:
        yield
        return
    own: Callable[..., None] = vars(transformers.trainer)["deepspeed_load_checkpoint"]

    def load(engine: Any, checkpoint_path: str, load_module_strict: bool = True) -> None:
        checkpoint, count = Path(checkpoint_path), engine.seq_dp_world_size
        saved_by = ranks.from_first(lambda: processes_of(checkpoint))
        if saved_by in (None, count):
            own(engine, checkpoint_path, load_module_strict=load_module_strict)
            return
        universal = scratch / f"universal-{checkpoint.name}"
        try:
            ranks.from_first(lambda: _convert(checkpoint, universal, saved_by, count))
            not_there = ranks.together(lambda: _load(engine, universal, load_module_strict))[0]
            if not_there and ranks.is_first:
                logger.warning(
                    "%d frozen weights are as the script made them: ZeRO 3 keeps none for others.", not_there
                )
        except Exception as error:
            raise OtherNumberOfProcesses(
                f"DeepSpeed cannot convert {checkpoint} from {saved_by} to {count} processes: {error!r}. "
                "For ZeRO with Adam it can, if there is room for one more checkpoint beside the others. "
                f"Otherwise resume with as many processes as saved it: {saved_by}."
            ) from error
        finally:
            if ranks.is_first:
                shutil.rmtree(universal, ignore_errors=True)

    with replaced_in(transformers.trainer, "deepspeed_load_checkpoint", load):
        yield


def processes_of(checkpoint: Path) -> int | None:
    """How many processes have a part of the optimizer; None if it is divided in more ways, or not by ZeRO."""
    names = {path.name for path in checkpoint.glob(f"{_tag_of(checkpoint)}/{_OPTIMIZER}")}
    parts = {int(match[1]) for name in names if (match := _PART.fullmatch(name))}
    return len(parts) if parts and len(parts) == len(names) and parts == set(range(len(parts))) else None


def _tag_of(checkpoint: Path) -> str:
    """The folder of DeepSpeed's files."""
    latest = checkpoint / "latest"
    return latest.read_text().strip() if latest.is_file() else "global_step*"


def _convert(checkpoint: Path, into: Path, saved_by: int | None, count: int) -> None:
    from deepspeed.checkpoint import ds_to_universal

    logger.warning("%s is converted from %s to %d processes ...", checkpoint, saved_by, count)
    began = time.monotonic()
    shutil.rmtree(into, ignore_errors=True)
    tag = _tag_of(checkpoint)
    (into / tag).mkdir(parents=True)
    ds_to_universal.main(
        SimpleNamespace(
            input_folder=str(checkpoint / tag),
            output_folder=str(into / tag),
            # In this process: it has threads, and one with threads is not to be forked.
            num_extract_workers=1,
            num_merge_workers=1,
            keep_temp_folder=False,
            strict=True,
            inject_missing_state=True,
        )
    )
    (into / "latest_universal").write_text(tag)
    logger.warning("%s is converted, in %.1f s.", checkpoint.name, time.monotonic() - began)


def _load(engine: Any, universal: Path, load_module_strict: bool) -> int:
    """How many weights are not loaded, since they are frozen."""
    before, engine._config.load_universal_checkpoint = engine._config.load_universal_checkpoint, True
    try:
        loaded, _ = engine.load_checkpoint(str(universal), load_module_strict=load_module_strict)
    finally:
        engine._config.load_universal_checkpoint = before
    if loaded is None:
        raise FileNotFoundError(f"DeepSpeed found nothing in {universal}")
    _put_settings_back(engine, universal)
    return _put_untrained_back(engine, universal)


def _put_untrained_back(engine: Any, universal: Path) -> int:
    """DeepSpeed (0.19.8) loads what the optimizer knows: no buffers, and no frozen weights."""
    model, not_there = _read(universal, "*/*_model_states.pt")["module"], 0
    for name, tensor in [*engine.module.named_buffers(), *engine.module.named_parameters()]:
        if tensor.requires_grad or name not in model:
            continue
        if model[name].numel():
            tensor.copy_(model[name])
        else:
            not_there += isinstance(tensor, torch.nn.Parameter)
    return not_there


def _put_settings_back(engine: Any, universal: Path) -> None:
    """DeepSpeed loses settings while it loads."""
    optimizer = engine.optimizer.optimizer
    # ZeRO 3 gives all groups the settings of the first (a weight decay, where there was to be none) ...
    groups = _read(universal, "*/zero/optimizer_state.pt")["param_groups"]
    for group, settings in zip(optimizer.param_groups, groups, strict=True):
        group.update({name: value for name, value in settings.items() if name != "params"})
    # ... and all weights one count of steps, which then counts each step once for each weight.
    for state in optimizer.state.values():
        if isinstance(state.get("step"), torch.Tensor):
            state["step"] = state["step"].clone()


def _read(universal: Path, pattern: str) -> Any:
    file = min(universal.glob(pattern))
    # As DeepSpeed reads it, with objects of its own; made just now from files that were compared with their manifest.
    return torch.load(file, map_location="cpu", weights_only=False)  # nosec B614
