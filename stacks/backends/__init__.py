"""What runs the training tasks: stacks/backends/base.py says what it must offer, ECS is the one there is."""

from stacks.backends.ecs import EcsBackend as TrainingBackend

__all__ = ["TrainingBackend"]
