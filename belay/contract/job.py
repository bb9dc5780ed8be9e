"""The job file: everything a person says about one training run. Parsed once, at the door."""

import re
from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from belay.contract.max_loss import Loss, loss_of
from belay.contract.units import Mib, Seconds, seconds_of

# A name becomes part of S3 prefixes, tags and metrics, so it can hold nothing that means something there.
NAME = r"[a-z0-9](?:[a-z0-9-]{0,46}[a-z0-9])?"
_PREFIX = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._=-]*/)+")
_BUCKET_AND_PREFIX = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/(.*)", re.DOTALL)
_EVERY_STEPS = re.compile(r"([1-9][0-9]{0,8}) steps?")
_EVERY_SECONDS = 600
_RESUME = re.compile(r"[0-9]{8}t[0-9]{6}z-[0-9a-f]{8}/checkpoint-(?:0|[1-9][0-9]{0,11})")
_LONGEST = 30 * 86400
# A history has at most 25,000 events.
_LONGEST_WAIT = 3 * 86400
_TAG_TEXT = re.compile(r"[\w .:/=+@-]*")

# These belong to Belay: it decides where checkpoints go, when, and what a run resumes from.
_OWNED_ARGUMENTS = {
    "output_dir": "leave it out; checkpoints go to the run's own prefix",
    "overwrite_output_dir": "leave it out; a run never overwrites another",
    "save_strategy": "use checkpoint.every",
    "save_steps": "use checkpoint.every",
    "save_total_limit": "use checkpoint.keep",
    "resume_from_checkpoint": "use resume",
    "push_to_hub": "leave it out; training has no access to anything but its mount",
    "hub_token": "leave it out; a job file is kept and logged, so it must hold no secret",
}


class Part(BaseModel):
    """A part of the job file: unknown keys are faults, and nothing changes after the door.

    Strict, so that the schema in an editor and the door agree: '3' is no number, and true is not 1.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def clash(cls, given: Mapping[str, Any]) -> str | None:
        """What does not go together. It looks at what was given, so that it also sees parts with other faults."""
        return None

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if clash := self.clash(vars(self)):
            raise ValueError(clash)
        return self


class Dataset(Part):
    """Where the training data lies in S3. It appears on the mount as `data/`; a file is fetched when first read."""

    s3: str = Field(
        description="A prefix in Belay's own bucket ('datasets/digits/') or 's3://bucket/prefix/'. Ends with '/'.",
        max_length=512,
    )
    format: Literal["auto", "parquet", "jsonl", "csv", "text", "imagefolder"] = Field(
        default="auto", description="How a built-in recipe reads it; 'auto' goes by the file names."
    )
    columns: dict[str, str] = Field(
        default={},
        description="What the recipe calls a column -> what the data calls it, e.g. {'text': 'body'}.",
    )

    @field_validator("s3")
    @classmethod
    def _is_one_closed_prefix(cls, s3: str) -> str:
        match = _BUCKET_AND_PREFIX.fullmatch(s3)
        prefix = match[1] if match else s3
        # Every part starts with a letter or a digit: no '..', no '//', no hidden or absolute paths.
        if not _PREFIX.fullmatch(prefix if prefix.endswith("/") else prefix + "/"):
            raise ValueError("is not a plain prefix; use letters, digits and . _ = - between single slashes")
        if not prefix.endswith("/"):
            raise ValueError(f"must end with '/', or 'data-1' would also match 'data-10'; use '{s3}/'")
        if not match and prefix.startswith("jobs/"):
            raise ValueError("lies among the runs' own results; put data under 'datasets/'")
        return s3


class Lora(Part):
    """Train small adapters beside frozen weights (peft)."""

    r: int = Field(default=8, ge=1, le=1024, description="The rank of an adapter: how much it can learn.")
    alpha: int = Field(default=16, ge=1, description="Scales what an adapter adds, by alpha / r.")
    dropout: float = Field(default=0.0, ge=0, lt=1, description="The share of an adapter's inputs left out at random.")
    target_modules: list[str] | Literal["all-linear"] = Field(
        default="all-linear", description="The names of the layers that get an adapter."
    )


class Train(Part):
    """What runs: a built-in recipe with a model, or a command of your own."""

    recipe: Literal["causal-lm", "sequence-classification", "image-classification"] | None = Field(
        default=None, description="A built-in training; it needs a 'model'. Either this or 'command'."
    )
    model: str | dict[str, Any] | None = Field(
        default=None,
        description="A Hub name, a folder on the mount ('data/model'), or a config to start from scratch.",
    )
    arguments: dict[str, Any] = Field(
        default={}, description="transformers.TrainingArguments, passed straight through."
    )
    lora: Lora | None = Field(default=None, description="Train small adapters beside frozen weights (peft).")
    command: list[str] | None = Field(
        default=None,
        description="A Trainer script and its arguments (['data/train.py', '--lr', '1e-4']), or any program.",
    )

    @field_validator("arguments")
    @classmethod
    def _leaves_saving_to_belay(cls, arguments: dict[str, Any]) -> dict[str, Any]:
        owned = [f"'{key}': {_OWNED_ARGUMENTS[key]}" for key in arguments if key in _OWNED_ARGUMENTS]
        if owned:
            raise ValueError("; ".join(owned))
        return arguments

    @field_validator("command")
    @classmethod
    def _can_be_passed_to_a_process(cls, command: list[str] | None) -> list[str] | None:
        if command is not None and (not command or not command[0] or any("\0" in word for word in command)):
            raise ValueError("must name a program; write it like ['data/train.py', '--lr', '1e-4']")
        return command

    @classmethod
    def clash(cls, given: Mapping[str, Any]) -> str | None:
        recipe, command, model = (given.get(name) for name in ("recipe", "command", "model"))
        if (recipe is None) == (command is None):
            return "needs either 'recipe' or 'command'; give exactly one of them"
        if recipe is not None and not model:
            return "'recipe' needs a 'model'; name one, or give a config with 'model_type'"
        if isinstance(model, dict) and not isinstance(model.get("model_type"), str):
            return "'model' as a config needs a 'model_type'; add one, for example 'gpt2' or 'vit'"
        if command is not None and (model is not None or given.get("arguments") or given.get("lora") is not None):
            return "'model', 'arguments' and 'lora' belong to a recipe; a command brings its own"
        return None


class Resources(Part):
    """What one training task may use. One job has its instance to itself."""

    gpus: int = Field(default=1, ge=0, le=16, description="At most those of the deployment's instance type.")
    cpus: int = Field(default=3, ge=1, le=192, description="vCPUs.")
    memory: Mib = Field(
        default=12 * 1024,
        ge=256,
        le=32 * 1024 * 1024,
        description="Of the host. A save needs room for one copy of the training's state.",
    )
    spot: bool = Field(default=False, description="Cheaper; can be interrupted with two minutes' notice.")


class Stripe(Part):
    """How checkpoint files spread over the file system's servers (used where there is more than one)."""

    count: int = Field(default=-1, ge=-1, le=160, description="-1: over all of them.")
    size: Mib = Field(default=4, ge=1, le=2048, description="How much goes to one server before the next one's turn.")

    @field_validator("count")
    @classmethod
    def _is_a_count(cls, count: int) -> int:
        if count == 0:
            raise ValueError("0 stripes hold nothing; use -1 for all servers, or a number from 1")
        return count


class Scratch(Part):
    """The file system that this run gets, and loses at its end."""

    size: Mib = Field(default=1200 * 1024, description="1200GiB, 2400GiB, or a multiple of 2400GiB.")
    type: Literal["SCRATCH_2", "PERSISTENT_2"] = Field(
        default="SCRATCH_2", description="PERSISTENT_2 is replicated, faster, and costs more."
    )
    throughput: Literal[125, 250, 500, 1000] | None = Field(
        default=None, description="MB/s per TiB; only with PERSISTENT_2 (125 if left out)."
    )
    stripe: Stripe = Stripe()

    @property
    def size_gib(self) -> int:
        return self.size // 1024

    @field_validator("size")
    @classmethod
    def _is_a_size_that_fsx_makes(cls, mib: int) -> int:
        gib, rest = divmod(mib, 1024)
        if rest or not (gib == 1200 or (gib > 0 and gib % 2400 == 0)) or gib > 100_800:
            raise ValueError("is not a size that FSx makes; use 1200GiB or a multiple of 2400GiB up to 100800GiB")
        return mib

    @classmethod
    def clash(cls, given: Mapping[str, Any]) -> str | None:
        if given.get("throughput") is not None and given.get("type", "SCRATCH_2") == "SCRATCH_2":
            return "'throughput' goes with type PERSISTENT_2; leave it out for SCRATCH_2"
        return None


class Checkpoint(Part):
    """When to save, and how many checkpoints stay on the file system. What reached S3 stays there."""

    every: str | None = Field(
        default=None, description="'200 steps', or a time such as '10m'. Left out: 10m, or as max_loss needs it."
    )
    keep: int = Field(default=3, ge=1, le=1000, description="How many stay on the file system, the newest ones.")
    max_loss: str | None = Field(
        default=None,
        description="The most work that a failure may cost, a lost file system included: a time ('30m'), or what it"
        " costs ('$5'). Saves and exports follow from it.",
    )
    failures_per_day: float | None = Field(
        default=None,
        gt=0,
        le=1000,
        allow_inf_nan=False,
        description="How many are to be expected; saves are then as often as is cheapest, or as max_loss needs them.",
    )
    exact_data: bool = Field(
        default=False,
        description="Data with chance in it (masking, augmentation) is exact after a resume too. Its random numbers are"
        " then others than the Trainer's, so it is for the whole of a training.",
    )

    @property
    def every_steps(self) -> int | None:
        match = _EVERY_STEPS.fullmatch(self.every) if self.every else None
        return int(match[1]) if match else None

    @property
    def every_seconds(self) -> int | None:
        if self.every is None:
            return _EVERY_SECONDS if self.max_loss is None else None
        return None if self.every_steps else seconds_of(self.every)

    @property
    def loss(self) -> Loss | None:
        return None if self.max_loss is None else loss_of(self.max_loss)

    @field_validator("max_loss")
    @classmethod
    def _is_a_loss(cls, max_loss: str | None) -> str | None:
        if max_loss is not None:
            loss_of(max_loss)
        return max_loss

    @model_validator(mode="after")
    def _every_and_max_loss_agree(self) -> Self:
        if self.failures_per_day is not None and self.max_loss is None:
            raise ValueError("'failures_per_day' goes with 'max_loss'; give one, as in '30m'")
        if self.loss and self.loss.seconds and self.every_seconds and self.every_seconds >= self.loss.seconds:
            raise ValueError(
                f"saves every {self.every!r} risk more than max_loss allows ({self.max_loss!r}); leave 'every' out,"
                " and saves are as often as it takes"
            )
        return self

    @field_validator("every")
    @classmethod
    def _is_steps_or_a_time(cls, every: str | None) -> str | None:
        if every is None or _EVERY_STEPS.fullmatch(every):
            return every
        try:
            positive = seconds_of(every) > 0
        except ValueError:
            positive = False
        if not positive:
            raise ValueError(f"{every!r} is not a cadence; write it like '200 steps' or '10m'")
        return every


class Limits(Part):
    """The longest that each phase may take, and the most that all of it may cost."""

    start: Seconds = Field(
        default=86400,
        ge=0,
        le=_LONGEST_WAIT,
        description="In all, while AWS cannot start the run: it waits without a file system. 0: it ends instead.",
    )
    scratch: Seconds = Field(default=1800, gt=0, le=_LONGEST, description="Until the file system is there.")
    link: Seconds = Field(default=3600, gt=0, le=_LONGEST, description="Until a folder is linked to S3: each of them.")
    capacity: Seconds = Field(default=1800, gt=0, le=_LONGEST, description="Until an instance has taken the task.")
    train: Seconds = Field(default=86400, gt=0, le=_LONGEST, description="One attempt, waiting included.")
    export: Seconds = Field(default=6 * 3600, gt=0, le=_LONGEST, description="One export, at the end.")
    hang: Seconds | None = Field(
        default=None,
        gt=0,
        le=_LONGEST,
        description="The longest that a Trainer may make no step; without it, by the run's own pace (guide.md).",
    )
    budget_usd: float | None = Field(
        default=None,
        gt=0,
        le=10_000_000,
        allow_inf_nan=False,
        description="The most that the run may cost. Training saves and stops while the rest is still paid for.",
    )


class Retry(Part):
    """How often training starts again on the same file system, by what ended it."""

    capacity: int = Field(
        default=0,
        ge=0,
        le=100,
        description="No instance came within limits.capacity. Then the run waits (limits.start).",
    )
    interruption: int = Field(default=10, ge=0, le=1000, description="Spot took the instance, or it was lost.")
    crash: int = Field(default=0, ge=0, le=100, description="The training program ended with a fault, or hung.")


class Job(Part):
    """One training run."""

    version: Literal[1] = Field(default=1, description="Of this format.")
    name: str = Field(
        pattern=f"^{NAME}$", description="Lower case, digits and hyphens; runs of one name resume each other."
    )
    dataset: Dataset
    train: Train
    resources: Resources = Resources()
    scratch: Scratch = Scratch()
    checkpoint: Checkpoint = Checkpoint()
    limits: Limits = Limits()
    retry: Retry = Retry()
    resume: str = Field(
        default="auto",
        description="'auto': the newest whole checkpoint of earlier runs; 'never'; or '<run>/checkpoint-<step>'.",
    )
    tags: dict[str, str] = Field(default={}, max_length=20, description="Put on the file system beside Belay's own.")

    @field_validator("resume")
    @classmethod
    def _names_a_checkpoint_of_this_job(cls, resume: str) -> str:
        if resume not in ("auto", "never") and not _RESUME.fullmatch(resume):
            raise ValueError(
                f"{resume!r} is no checkpoint; use 'auto', 'never' or '<run>/checkpoint-<step>',"
                " as in '20261121t024455z-3f9a2c1b/checkpoint-40'"
            )
        return resume

    @field_validator("tags")
    @classmethod
    def _can_be_tags(cls, tags: dict[str, str]) -> dict[str, str]:
        for key, value in tags.items():
            if not 1 <= len(key) <= 128 or len(value) > 256:
                raise ValueError(f"{key!r}: keys have 1 to 128 characters, values at most 256; shorten it")
            if key.lower().startswith(("aws:", "belay:")):
                raise ValueError(f"{key!r}: 'aws:' and 'belay:' are taken; use another prefix")
            if not _TAG_TEXT.fullmatch(key) or not _TAG_TEXT.fullmatch(value):
                raise ValueError(f"{key!r}: use letters, digits, spaces and . : / = + @ - _")
        return tags
