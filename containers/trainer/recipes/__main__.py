"""python -m containers.trainer.recipes PLAN DATA: what torchrun starts for a job with a recipe."""

import sys
from pathlib import Path

from transformers import set_seed

from containers.trainer.mount.plan import read_plan
from containers.trainer.recipes import causal_lm, image_classification, sequence_classification
from containers.trainer.recipes.arguments import training_arguments
from containers.trainer.recipes.data import load_splits
from containers.trainer.recipes.ingredients import Ingredients
from containers.trainer.recipes.lora import with_adapters

_RECIPES = {
    "causal-lm": causal_lm.prepare,
    "sequence-classification": sequence_classification.prepare,
    "image-classification": image_classification.prepare,
}


def main(plan_path: Path, data: Path) -> None:
    job = read_plan(plan_path).job
    assert job.train.recipe is not None and job.train.model is not None, "a job without a recipe has a command"
    # Before anything is loaded: a misspelt argument should not cost an hour of preparing data.
    arguments = training_arguments(job, output_dir=Path.home() / "trainer")
    set_seed(arguments.seed)
    with arguments.main_process_first(desc="preparing the data"):
        prepared = _RECIPES[job.train.recipe](
            Ingredients(model=job.train.model, data=data, splits=load_splits(data, job.dataset), arguments=arguments)
        )
    if job.train.lora:
        prepared = with_adapters(prepared, job.train.lora, arguments)
    prepared.trainer(arguments).train()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
