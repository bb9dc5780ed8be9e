"""The job's `train.arguments` become transformers.TrainingArguments, as they are."""

import dataclasses
import difflib
from pathlib import Path
from typing import Any

from transformers import TrainingArguments

from belay.contract.job import Job


class ArgumentsRefused(Exception):
    """The job's train.arguments are not TrainingArguments; the message lists every fault."""


def training_arguments(job: Job, *, output_dir: Path) -> TrainingArguments:
    given = job.train.arguments
    _refuse_unknown(given)
    defaults: dict[str, Any] = {"logging_steps": 10, "disable_tqdm": True, "use_cpu": job.resources.gpus == 0}
    if job.train.recipe == "causal-lm":
        # Logits of a whole evaluation set over a whole vocabulary fit into no memory.
        defaults["prediction_loss_only"] = True
    if job.train.recipe == "image-classification":
        # Pixels are made when a batch is, from a column that the model itself does not know.
        defaults["remove_unused_columns"] = False
    try:
        return TrainingArguments(**{**defaults, **given, **_saving(given)}, output_dir=str(output_dir))
    except (ValueError, TypeError, ImportError) as error:
        raise ArgumentsRefused(f"train.arguments: {error}") from error


def _saving(given: dict[str, Any]) -> dict[str, Any]:
    """When to save is stallfree's to decide; the Trainer is given only what its search for the best model needs."""
    if not (given.get("load_best_model_at_end") or given.get("metric_for_best_model")):
        return {"save_strategy": "no"}
    same = {"save_strategy": given.get("eval_strategy", "steps")}
    return {**same, "save_steps": given["eval_steps"]} if "eval_steps" in given else same


def _refuse_unknown(given: dict[str, Any]) -> None:
    known = [field.name for field in dataclasses.fields(TrainingArguments) if field.init]
    faults = []
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            faults.append(f"train.arguments.{name}: unknown" + (f"; did you mean '{near[0]}'?" if near else ""))
    if faults:
        raise ArgumentsRefused("\n".join(faults))
