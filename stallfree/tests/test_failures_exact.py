"""An undamaged checkpoint from which the plain Trainer does not go on exactly; and ours, which does or says so."""

import functools
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import datasets
import pytest
import torch
from small_training import Weights, first_step, same, stallfree, trainer, weights
from stallfree.exact import training
from stallfree.exact.random_states import RandomStates
from tiny import Numbers
from torch.utils.data import Dataset, IterableDataset
from transformers import Trainer, TrainerCallback
from transformers.data.data_collator import default_data_collator

NOT_EXACT = "is not exactly the uninterrupted one"


def masking(samples: list[Any]) -> Any:
    """As models that fill in masked words are trained: by torch's global random state."""
    batch: dict[str, torch.Tensor] = default_data_collator(samples)
    batch["input_ids"] = batch["input_ids"].masked_fill(torch.rand(batch["input_ids"].shape) < 0.3, 0)
    return batch


class Noisy(Dataset[dict[str, torch.Tensor]]):
    """Augmented by the global random state, sample by sample."""

    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        tokens = Numbers()[number]["input_ids"].clone()
        tokens[torch.randint(8, ())] = 1
        return {"input_ids": tokens, "labels": tokens}


class Stream(IterableDataset[dict[str, torch.Tensor]]):
    """Each of several workers has a part of it."""

    def __init__(self, data: Dataset[dict[str, torch.Tensor]], count: int = 480) -> None:
        self._data = data
        self._count = count

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        worker = torch.utils.data.get_worker_info()
        first, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        for number in range(first, self._count, stride):
            yield self._data[number % 48]


Change = Callable[[Trainer], None]


def with_masking(of: Trainer) -> None:
    of.data_collator = masking


def with_noise(of: Trainer) -> None:
    of.train_dataset = Noisy()


def with_a_noisy_stream(of: Trainer) -> None:
    of.train_dataset = Stream(Noisy())
    of.data_collator = masking


def with_a_stream(of: Trainer) -> None:
    of.train_dataset = Stream(Numbers())


def with_a_stream_that_ends(of: Trainer) -> None:
    """Resumed after step 7, it is in its second pass, of five steps each. The shuffling of each is another."""
    columns = {
        name: [Numbers()[number]["input_ids"].tolist() for number in range(40)] for name in ("input_ids", "labels")
    }
    stream = datasets.Dataset.from_dict(columns).to_iterable_dataset(num_shards=2)
    of.train_dataset = stream.shuffle(seed=3, buffer_size=8).with_format("torch")


class Counted(Stream):
    def __len__(self) -> int:
        return 48


def with_a_stream_of_known_length(of: Trainer) -> None:
    of.train_dataset = Counted(Numbers(), 48)


class Uneven(Dataset[dict[str, torch.Tensor]]):
    def __len__(self) -> int:
        return 48

    def __getitem__(self, number: int) -> dict[str, torch.Tensor]:
        if number >= len(self):
            raise IndexError(number)  # The sampler looks at each of them first.
        tokens = Numbers()[number]["input_ids"][: 4 + number % 5]
        return {"input_ids": tokens, "labels": tokens}


def _padded(samples: list[Any]) -> dict[str, torch.Tensor]:
    rows = [torch.nn.functional.pad(sample["input_ids"], (0, 8 - len(sample["input_ids"]))) for sample in samples]
    return {"input_ids": torch.stack(rows), "labels": torch.stack(rows)}


def grouped_by_length(of: Trainer) -> None:
    """Its sampler draws the order of each epoch from the global random state."""
    of.train_dataset = Uneven()
    of.data_collator = _padded
    of.args.train_sampling_strategy = "group_by_length"


def copy_of(of: Trainer) -> None:
    pass


def _end(out: Path, change: Change, *callbacks: TrainerCallback, resume: bool = False, **arguments: Any) -> Trainer:
    trained = trainer(out, *callbacks, save_steps=7, **arguments)
    change(trained)
    trained.train(resume_from_checkpoint=str(out / "checkpoint-7") if resume else None)
    assert first_step(trained) in (1, 8)
    return trained


four_ways = pytest.mark.parametrize(
    "loader", [(0, 1), (0, 2), (2, 1), (2, 2)], ids=lambda loader: f"{loader[0]} workers, {loader[1]} batches a step"
)


def _loader(workers: int, batches: int) -> dict[str, Any]:
    return {"dataloader_num_workers": workers, "gradient_accumulation_steps": batches}


@pytest.mark.parametrize("loader", [(0, 1), (2, 1)], ids=["0 workers", "2 workers"])
def test_the_plain_trainer_is_not_exact_where_the_collator_draws(tmp_path: Path, loader: tuple[int, int]) -> None:
    whole = _end(tmp_path, with_masking, **_loader(*loader))
    resumed = _end(tmp_path, with_masking, resume=True, **_loader(*loader))
    assert not same(weights(whole), weights(resumed))


@four_ways
def test_ours_is_exact_there_with_exact_data(tmp_path: Path, loader: tuple[int, int]) -> None:
    whole = _end(tmp_path, with_masking, stallfree(exact_data=True), **_loader(*loader))
    resumed = _end(tmp_path, with_masking, stallfree(exact_data=True), resume=True, **_loader(*loader))
    assert same(weights(whole), weights(resumed))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("change", [with_noise, with_a_noisy_stream], ids=["augmented", "stream"])
def test_and_so_it_is_for_other_data_with_chance_in_it(tmp_path: Path, change: Change, workers: int) -> None:
    whole = _end(tmp_path, change, stallfree(exact_data=True), **_loader(workers, 2))
    resumed = _end(tmp_path, change, stallfree(exact_data=True), resume=True, **_loader(workers, 2))
    assert same(weights(whole), weights(resumed))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("change", [copy_of, with_a_stream], ids=["shuffled", "stream"])
def test_data_without_chance_is_exact_and_nothing_is_said(
    tmp_path: Path, change: Change, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    whole = _end(tmp_path, change, stallfree(), **_loader(workers, 2))
    resumed = _end(tmp_path, change, stallfree(), resume=True, **_loader(workers, 2))
    assert same(weights(whole), weights(resumed))
    assert NOT_EXACT not in caplog.text


@pytest.mark.parametrize("workers", [0, 2])
def test_data_losses_weights_and_random_states_are_those_of_the_uninterrupted_training(
    tmp_path: Path, workers: int
) -> None:
    def lived(*, resume: bool) -> tuple[list[torch.Tensor], list[Any], Weights, dict[str, Any]]:
        trained = trainer(tmp_path, stallfree(), save_steps=7, **_loader(workers, 2))
        batches: list[torch.Tensor] = []
        own_step = trained.training_step

        def step(model: Any, inputs: Any, *args: Any) -> torch.Tensor:
            batches.append(inputs["input_ids"])
            return own_step(model, inputs, *args)

        trained.__dict__["training_step"] = step
        trained.train(resume_from_checkpoint=str(tmp_path / "checkpoint-7") if resume else None)
        logged = [(entry["loss"], entry["grad_norm"]) for entry in trained.state.log_history if "loss" in entry]
        return batches, logged, weights(trained), RandomStates().noted()

    batches, logged, weighed, random = lived(resume=False)
    batches_after, logged_after, weighed_after, random_after = lived(resume=True)
    assert len(batches) == 24 and len(batches_after) == 10
    assert all(torch.equal(one, other) for one, other in zip(batches[14:], batches_after, strict=True))
    assert logged_after == logged
    assert same(weighed, weighed_after)
    assert random_after == random


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("change", [with_masking, with_noise], ids=["masked", "augmented"])
def test_without_exact_data_the_resumed_run_warns_once_that_it_is_not_exact(
    tmp_path: Path, change: Change, workers: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger=training.__name__):
        _end(tmp_path, change, stallfree(), **_loader(workers, 1))
        assert NOT_EXACT not in caplog.text, "nothing was resumed"
        _end(tmp_path, change, stallfree(), resume=True, **_loader(workers, 1))
    assert caplog.text.count(NOT_EXACT) == 1


@pytest.mark.parametrize("change", [with_a_stream_that_ends, grouped_by_length], ids=["stream", "by length"])
def test_the_plain_trainer_takes_other_data_after_a_resume_in_a_later_epoch(tmp_path: Path, change: Change) -> None:
    whole = _end(tmp_path, change)
    resumed = _end(tmp_path, change, resume=True)
    assert not same(weights(whole), weights(resumed))


@pytest.mark.parametrize("exact_data", [False, True])
@pytest.mark.parametrize(
    "change",
    [with_a_stream_that_ends, with_a_stream_of_known_length, grouped_by_length],
    ids=["stream", "counted stream", "by length"],
)
def test_ours_takes_the_same(tmp_path: Path, change: Change, exact_data: bool) -> None:
    whole = _end(tmp_path, change, stallfree(exact_data=exact_data))
    resumed = _end(tmp_path, change, stallfree(exact_data=exact_data), resume=True)
    assert same(weights(whole), weights(resumed))


def test_workers_that_replay_a_stream_with_chance_in_it_come_to_the_same_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def change(of: Trainer) -> None:
        of.train_dataset = Stream(Noisy(), 40)  # In its second pass when it is resumed.

    whole = _end(tmp_path, change, stallfree(), **_loader(2, 1))
    resumed = _end(tmp_path, change, stallfree(), resume=True, **_loader(2, 1))
    assert same(weights(whole), weights(resumed))
    assert NOT_EXACT not in caplog.text


def test_with_exact_data_each_batch_still_has_a_draw_of_its_own_and_each_epoch_others(tmp_path: Path) -> None:
    drawn: list[float] = []

    def drawing(samples: list[Any]) -> Any:
        drawn.append(float(torch.rand(())))
        return default_data_collator(samples)

    def change(of: Trainer) -> None:
        of.train_dataset = Stream(Numbers(), 16)  # The same two batches in each of six passes.
        of.data_collator = drawing

    _end(tmp_path, change, stallfree(exact_data=True))
    assert len(drawn) == 12 == len(set(drawn))


def _losses(of: Trainer) -> list[tuple[float, float]]:
    return [(entry["step"], entry["loss"]) for entry in of.state.log_history if "loss" in entry]


def test_the_plain_trainer_logs_another_loss_after_a_resume(tmp_path: Path) -> None:
    whole = _end(tmp_path, copy_of, logging_steps=5)
    resumed = _end(tmp_path, copy_of, resume=True, logging_steps=5)
    assert same(weights(whole), weights(resumed))
    assert _losses(whole)[0] == _losses(resumed)[0]
    assert _losses(whole)[1] != _losses(resumed)[1]


def test_ours_logs_the_same_losses_to_the_last_bit(tmp_path: Path) -> None:
    whole = _end(tmp_path, copy_of, stallfree(), logging_steps=5)
    resumed = trainer(tmp_path, stallfree(), save_steps=7, logging_steps=5)
    logged = resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-7"))
    assert len(_losses(whole)) == 2
    assert _losses(resumed) == _losses(whole)
    own = trainer(tmp_path / "own", save_steps=7, logging_steps=5).train(str(tmp_path / "checkpoint-7"))
    assert logged.training_loss == pytest.approx(own.training_loss), "the Trainer means that of this call alone"


def test_what_a_script_put_in_place_of_a_method_is_there_again_after_training(tmp_path: Path) -> None:
    trained = trainer(tmp_path, stallfree(exact_data=True), max_steps=2)
    scripts_own = functools.partial(trained.get_train_dataloader)
    trained.__dict__["get_train_dataloader"] = scripts_own
    trained.train()
    assert trained.__dict__["get_train_dataloader"] is scripts_own
