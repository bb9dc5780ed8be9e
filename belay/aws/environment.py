"""A handler's settings, read from BELAY_* variables: typed, and only those that it needs."""

import os
from typing import Self

from pydantic import BaseModel, ConfigDict


class Environment(BaseModel):
    """A field `trainer_family` is the variable BELAY_TRAINER_FAMILY."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def read(cls) -> Self:
        variables = {name: f"BELAY_{name.upper()}" for name in cls.model_fields}
        return cls.model_validate({name: os.environ[var] for name, var in variables.items() if var in os.environ})
