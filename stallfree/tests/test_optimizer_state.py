"""What a save refers to while training goes on is that of its moment."""

import copy
from typing import Any

import pytest
import torch
from accelerate.optimizer import AcceleratedOptimizer
from stallfree.saving.buffers.weight_versions import WeightVersions
from stallfree.saving.optimizer_state import state_of


def trained(kind: Any = torch.optim.AdamW) -> Any:
    weights = [torch.nn.Parameter(torch.ones(3)) for _ in range(3)]
    optimizer: Any = kind([{"params": weights[:1]}, {"params": weights[1:], "lr": 0.5}], lr=0.25)
    for weight in weights:
        weight.grad = torch.ones(3)
    optimizer.step()
    return optimizer


def test_an_optimizers_state_is_that_of_its_step_however_late_it_is_put_together() -> None:
    optimizer = trained()
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    then = copy.deepcopy(optimizer.state_dict())
    wrapped = AcceleratedOptimizer.__new__(AcceleratedOptimizer)
    wrapped.optimizer = optimizer
    noted = state_of(wrapped)
    optimizer.param_groups[0]["lr"] = 9.0
    optimizer.param_groups[1]["params"].pop()
    del optimizer.state[weights[0]]
    optimizer.add_param_group({"params": [torch.nn.Parameter(torch.ones(1))]})
    now = noted()
    assert now["param_groups"] == then["param_groups"]
    assert now["state"].keys() == then["state"].keys()
    for number, state in then["state"].items():
        assert state.keys() == now["state"][number].keys()
        assert all(torch.equal(value, now["state"][number][name]) for name, value in state.items())


class WithAStateOfItsOwn(torch.optim.SGD):
    def state_dict(self) -> dict[str, Any]:
        return {"rates": [group["lr"] for group in self.param_groups]}


def test_an_optimizer_with_a_state_of_its_own_is_asked_at_once() -> None:
    optimizer = trained(WithAStateOfItsOwn)
    noted = state_of(optimizer)
    optimizer.param_groups[0]["lr"] = 9.0
    assert noted() == {"rates": [0.25, 0.5]}


@pytest.mark.parametrize("where", ["register_state_dict_pre_hook", "register_state_dict_post_hook"])
def test_an_optimizer_with_hooks_on_its_state_is_asked_at_once(where: str) -> None:
    optimizer, asked = trained(), []
    getattr(optimizer, where)(lambda *_: asked.append(1))
    noted = state_of(optimizer)
    assert asked == [1]
    noted()
    assert asked == [1]


def test_a_change_is_seen_until_the_optimizer_goes_on() -> None:
    weights = [torch.zeros(1), torch.zeros(1)]
    versions = WeightVersions(weights)
    weights[1] += 1
    assert versions.changed() == {1}
    versions.end()
    assert versions.changed() == set(), "the optimizer changes all of them"
    versions.record()
    assert versions.changed() == set()
    weights[0] += 1
    assert versions.changed() == {0}


def test_between_saves_every_eighth_step_is_looked_at() -> None:
    weight = torch.zeros(1)
    versions = WeightVersions([weight])
    seen = []
    for _ in range(16):
        versions.end()
        versions.record_now_and_then()
        weight += 1
        seen.append(versions.changed())
    assert seen == 2 * [*7 * [set()], {0}]
