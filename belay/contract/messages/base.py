"""The base of every message between a flow and a Lambda."""

from pydantic import BaseModel, ConfigDict


class Question(BaseModel):
    """Unknown fields are ignored: a run that was under way at an update goes on asking as its own definition does.

    That the flow of this version sends no unknown field, and all that are required, is checked at synth.
    """

    model_config = ConfigDict(frozen=True)


class Answer(BaseModel):
    """Only what a flow reads, or a person sees as the output of an execution."""

    model_config = ConfigDict(frozen=True, extra="forbid")
