"""Belay keeps training on AWS from ever losing a checkpoint."""

__version__ = "0.2.0"
