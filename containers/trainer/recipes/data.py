"""The dataset on the mount, as `datasets` reads it. Files are opened in place; what is derived goes to local disk."""

from collections import Counter
from pathlib import Path

from datasets import Dataset, load_dataset

from belay.contract.job import Dataset as DatasetOfJob
from containers.trainer.recipes.ingredients import Splits

_SUFFIXES = {
    "parquet": {".parquet"},
    "jsonl": {".jsonl"},
    "csv": {".csv"},
    "text": {".txt"},
    "imagefolder": {".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff"},
}
_BUILDERS = {"jsonl": "json"}
_SPLIT_NAMES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "eval": "validation",
    "test": "test",
}
# These lie beside the data, and are no data.
_NOT_DATA = {"tokenizer", "model"}


class DataUnusable(Exception):
    """The dataset on the mount is not what the recipe needs."""


def load_splits(root: Path, dataset: DatasetOfJob) -> Splits:
    """Training and evaluation data; `validation` is preferred over `test`, and there may be neither."""
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not _NOT_DATA & set(_place(path, root))]
    form = dataset.format if dataset.format != "auto" else _form_of(files)
    by_split: dict[str, list[str]] = {}
    for path in files:
        if path.suffix.lower() in _SUFFIXES[form]:
            by_split.setdefault(_split_of(path, root), []).append(str(path))
    if "train" not in by_split:
        raise DataUnusable(f"no {form} files for training in the dataset; it has {_summary(files)}")
    splits = load_dataset(_BUILDERS.get(form, form), data_files=by_split)
    evaluation = splits.get("validation", splits.get("test"))
    return Splits(splits["train"], evaluation).map_each(lambda split: _renamed(split, dataset.columns))


def require_columns(splits: Splits, *columns: str) -> None:
    for split in (splits.train, splits.evaluation):
        for column in columns:
            if split is not None and column not in split.column_names:
                raise DataUnusable(
                    f"the data has no column '{column}', it has {', '.join(split.column_names)};"
                    f" say which one it is: dataset.columns: {{'{column}': ...}}"
                )


def _renamed(split: Dataset, columns: dict[str, str]) -> Dataset:
    if missing := [name for name in columns.values() if name not in split.column_names]:
        raise DataUnusable(f"dataset.columns names '{missing[0]}'; the data has {', '.join(split.column_names)}")
    return split.rename_columns({theirs: ours for ours, theirs in columns.items() if ours != theirs})


def _form_of(files: list[Path]) -> str:
    suffixes = Counter(path.suffix.lower() for path in files)
    counts = {form: sum(suffixes[suffix] for suffix in known) for form, known in _SUFFIXES.items()}
    form = max(counts, key=lambda candidate: counts[candidate])
    if not counts[form]:
        raise DataUnusable(f"the dataset has {_summary(files)}; none of it is {', '.join(_SUFFIXES)}")
    return form


def _split_of(path: Path, root: Path) -> str:
    """From the first folder or else the file name ('test/7/12.png', 'test-00001.parquet'); data without is to train."""
    first = _place(path, root)[0]
    word = first.replace("_", "-").replace(".", "-").split("-")[0].lower()
    return _SPLIT_NAMES.get(word, "train")


def _place(path: Path, root: Path) -> tuple[str, ...]:
    return path.relative_to(root).parts


def _summary(files: list[Path]) -> str:
    suffixes = Counter(path.suffix.lower() or "no suffix" for path in files)
    return ", ".join(f"{count} x {suffix}" for suffix, count in suffixes.most_common(5)) or "no files"
