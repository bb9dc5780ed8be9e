"""The folder of this repository."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
