"""The base of every message between a flow and a Lambda."""

from pydantic import BaseModel, ConfigDict


class Question(BaseModel):
    """Unknown fields are ignored: a Train from before a deployment, or a person, may start a Teardown with more.

    That the flow of this version sends no unknown field, and all that are required, is checked at synth.
    """

    model_config = ConfigDict(frozen=True)


class Answer(BaseModel):
    """Only what a flow reads, or a person sees as the output of an execution."""

    model_config = ConfigDict(frozen=True, extra="forbid")
