"""Is the model still the one that was laid out? Every save asks while training waits, so the answer must be quick."""

import copy
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from operator import attrgetter, is_
from typing import Any

import torch

_tables_of = attrgetter("_parameters", "_modules")
_look_of = attrgetter("shape", "dtype")
_SETTINGS = ("config", "generation_config", "peft_config")


class ModelIdentity:
    """Invalidated when weights are replaced, resized or renamed, and when the settings saved beside them change."""

    def __init__(self, model: torch.nn.Module) -> None:
        self._modules = list(model.modules())
        self._saves_itself = any(_saves_itself(module) for module in self._modules)
        self._parts = self._parts_now()
        self._weights = [part for part in self._parts if isinstance(part, torch.Tensor)]
        self._places = self._places_now()
        self._settings_are_the_same = _comparison_with(_settings_of(model))

    def is_of(self, model: torch.nn.Module) -> bool:
        if model is not self._modules[0]:
            return False
        parts = self._parts_now()
        return (
            len(parts) == len(self._parts)
            # By identity: `==` would compare the tensors' values.
            and all(map(is_, parts, self._parts))
            and self._places_now() == self._places
            and self._settings_are_the_same(_settings_of(model))
        )

    def _parts_now(self) -> list[Any]:
        """Every module and every saved weight, each with its name in its parent."""
        tables = [*chain.from_iterable(map(_tables_of, self._modules)), *map(_saved_buffers_of, self._modules)]
        # Their lengths too: a weight moved from one module to the next would leave the same sequence.
        return [*chain.from_iterable(tables), *chain.from_iterable(map(dict.values, tables)), *map(len, tables)]

    def _places_now(self) -> list[Any]:
        if self._saves_itself:
            return list(_places_of_state(self._modules[0]))
        looks = chain(map(_look_of, self._weights), map(torch.Tensor.stride, self._weights))
        return [*map(torch.Tensor.data_ptr, self._weights), *looks]


def _saved_buffers_of(module: torch.nn.Module) -> dict[str, Any]:
    buffers, unsaved = module._buffers, module._non_persistent_buffers_set
    return {name: buffer for name, buffer in buffers.items() if name not in unsaved} if buffers else buffers


def _saves_itself(module: torch.nn.Module) -> bool:
    """What it saves may differ from the weights that it has."""
    own = ("state_dict", "_save_to_state_dict", "get_extra_state")
    changed = any(getattr(type(module), name) is not getattr(torch.nn.Module, name) for name in own)
    return changed or bool(module._state_dict_hooks or module._state_dict_pre_hooks)


def _places_of_state(model: torch.nn.Module) -> Iterator[tuple[Any, ...]]:
    for name, weight in model.state_dict().items():
        if isinstance(weight, torch.Tensor):
            yield name, weight.data_ptr(), weight.shape, weight.dtype


def _settings_of(model: Any) -> list[Any]:
    """The configurations that are saved beside weights, as they are now: they are changed in place."""
    settings: list[Any] = []
    for name in _SETTINGS:
        setting = getattr(model, name, None)
        settings += [type(setting), getattr(setting, "__dict__", setting)]
    if getattr(model, "_hf_peft_config_loaded", False):
        # Only these are saved.
        settings.append(model.active_adapters())
    return settings


def _comparison_with(settings: list[Any]) -> Callable[[list[Any]], bool]:
    with suppress(Exception):
        kept = copy.deepcopy(settings)
        if kept == settings:
            return lambda now: bool(now == kept)
    # Much slower, where something in them cannot be copied or compared.
    written = _written(settings)
    return lambda now: _written(now) == written


def _written(settings: list[Any]) -> bytes | str:
    try:
        return pickle.dumps(settings)
    except Exception:
        return repr(settings)
