"""What the flows ask the Lambdas, and what they answer: one model for each question and each answer."""

from typing import Final

MESSAGES_VERSION: Final = 1
"""Of all that runs of two versions of Belay exchange. Raised when `make upgrade-check` cannot hold: then a deployment
waits until no run of the version before is alive (docs/decisions/0026)."""
