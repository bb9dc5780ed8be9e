"""An optimizer's state_dict as of now, put together later, in the background."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from accelerate.optimizer import AcceleratedOptimizer
from torch.optim import Optimizer


def state_of(optimizer: Any) -> Callable[[], dict[str, Any]]:
    """Its `state_dict`, which refers to live tensors: they are those of now until the optimizer's next step.

    PyTorch's own is made of nothing but what is noted here. Of any other kind it is asked at once.
    """
    inner = optimizer.optimizer if type(optimizer) is AcceleratedOptimizer else optimizer
    if not _is_pytorchs_own(inner):
        state = optimizer.state_dict()
        return lambda: state
    noted: Any = SimpleNamespace(
        # The settings of its groups may change before its next step.
        param_groups=[{**group, "params": list(group["params"])} for group in inner.param_groups],
        state=dict(inner.state),
        _optimizer_state_dict_pre_hooks={},
        _optimizer_state_dict_post_hooks={},
    )
    return lambda: Optimizer.state_dict(noted)


def _is_pytorchs_own(optimizer: Any) -> bool:
    return (
        getattr(type(optimizer), "state_dict", None) is Optimizer.state_dict
        and "state_dict" not in vars(optimizer)
        and not optimizer._optimizer_state_dict_pre_hooks
        and not optimizer._optimizer_state_dict_post_hooks
    )
