"""Whatever changes what a save consists of is noticed; whatever training changes all the time is not."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from stallfree.saving.buffers.model_identity import ModelIdentity
from tiny import tiny_model


def _move(model: Any) -> None:
    weight = model.transformer.ln_f.weight
    weight.data = weight.data.clone()


def _shrink(model: Any) -> None:
    weight = model.transformer.ln_f.weight
    weight.data = weight.data[:-1]


def _replace(model: Any) -> None:
    norm = model.transformer.ln_f
    norm.weight = torch.nn.Parameter(norm.weight.detach())


def _rename(model: Any) -> None:
    norm = model.transformer.ln_f
    norm.scale = norm._parameters.pop("weight")


def _pass_on(model: Any) -> None:
    block = model.transformer.h[0]
    block.attn._parameters["bias"] = block.ln_1._parameters.pop("bias")


def _turn(model: Any) -> None:
    weight = model.transformer.h[0].attn.c_proj.weight
    weight.data = weight.data.t()


def _add(model: Any) -> None:
    model.transformer.extra = torch.nn.Linear(2, 2)


def _change_setting(model: Any) -> None:
    model.config.task_specific_params["here"]["length"] = 2


def _change_generation(model: Any) -> None:
    model.generation_config.temperature = 0.5


def _replace_saved_buffer(model: Any) -> None:
    model.kept = model.kept.clone()


def _unsave_buffer(model: Any) -> None:
    model.register_buffer("kept", model.kept, persistent=False)


@pytest.fixture
def model() -> Any:
    made = tiny_model()
    made.config.task_specific_params = {"here": {"length": 1}}
    made.register_buffer("kept", torch.zeros(3))
    made.register_buffer("forgotten", torch.zeros(3), persistent=False)
    return made


@pytest.mark.parametrize(
    "change",
    [
        _move,
        _shrink,
        _replace,
        _rename,
        _pass_on,
        _turn,
        _add,
        _change_setting,
        _change_generation,
        _replace_saved_buffer,
        _unsave_buffer,
    ],
)
def test_a_model_that_is_saved_otherwise_is_another(change: Callable[[Any], None], model: Any) -> None:
    identity = ModelIdentity(model)
    assert identity.is_of(model)
    change(model)
    assert not identity.is_of(model)


def test_a_copy_of_it_is_another(model: Any) -> None:
    assert not ModelIdentity(model).is_of(tiny_model())


def test_values_gradients_and_buffers_that_are_not_saved_may_change(model: Any) -> None:
    identity = ModelIdentity(model)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(1)
            weight.grad = torch.ones_like(weight)
    model.transformer.ln_f.requires_grad_(False)
    model.forgotten = torch.zeros(99)
    model.eval()
    assert identity.is_of(model)


def test_of_a_model_with_its_own_way_to_save_all_that_it_saves_is_compared(model: Any) -> None:
    extra = {"more": torch.zeros(2)}
    model.register_state_dict_post_hook(lambda module, state, prefix, metadata: state.update(extra))
    identity = ModelIdentity(model)
    assert identity.is_of(model)
    extra["still more"] = torch.zeros(2)
    assert not identity.is_of(model)


def test_a_setting_that_is_equal_only_to_itself_is_compared_all_the_same(model: Any) -> None:
    class Odd:
        length = 1

        def __repr__(self) -> str:
            return f"Odd({self.length})"

    model.config.odd = odd = Odd()
    identity = ModelIdentity(model)
    assert identity.is_of(model)
    odd.length = 2
    assert not identity.is_of(model)
