"""Jobs for runs on a local cloud: small models that really train, on the CPU."""

from typing import Any

# Minutes of FSx and ECS become seconds; training is not compressed.
TIME_SCALE = 200.0
DATASET = "datasets/digits/"
# Long enough, compressed, for a busy machine to reach training. A run that cannot start ends, if its job says no more.
_LONG_LIMITS = {"start": "0s", "scratch": "6h", "link": "6h", "capacity": "6h"}


def digits(name: str, *, steps: int = 40, every: str = "10 steps", **parts: Any) -> dict[str, Any]:
    """A small vision transformer on handwritten digits, with the built-in recipe."""
    job: dict[str, Any] = {
        "name": name,
        "dataset": {"s3": DATASET},
        "train": {
            "recipe": "image-classification",
            "model": {
                "model_type": "vit",
                "image_size": 8,
                "patch_size": 2,
                "num_channels": 1,
                "hidden_size": 32,
                "num_hidden_layers": 2,
                "num_attention_heads": 2,
                "intermediate_size": 64,
            },
            "arguments": {"max_steps": steps, "per_device_train_batch_size": 32, "logging_steps": 5, "seed": 7},
        },
        "resources": {"gpus": 0, "cpus": 1, "memory": "2GiB"},
        "checkpoint": {"every": every, "keep": 3},
        # On a busy machine ECS may give up before an instance is free.
        "retry": {"capacity": 2, **parts.get("retry", {})},
    }
    parts.pop("retry", None)
    return {**job, **parts, "limits": {**_LONG_LIMITS, **parts.get("limits", {})}}


def script(name: str, *words: str, **parts: Any) -> dict[str, Any]:
    """A program of the user's own, from the dataset folder."""
    job = digits(name, **parts)
    return {**job, "train": {"command": list(words)}}
