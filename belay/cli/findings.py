"""What one check of `belay doctor` found."""

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "wrong", "unknown"]


@dataclass(frozen=True)
class Finding:
    what: str
    state: State
    text: str
