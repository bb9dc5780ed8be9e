"""Copies from a GPU come from the right moment. No GPU is here: streams stand for themselves, and run in any order."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from stallfree.direct_io import memory
from stallfree.saving.images.copies import CudaCopies, HostCopies, copies_for
from stallfree.saving.images.layout import CannotOverlap, Source
from stallfree.saving.images.pages import Pages
from torch.overrides import TorchFunctionMode

HERE = torch.device("meta")


class Line:
    """Work in its order, each piece after those of other streams that it was told to wait for."""

    def __init__(self, device: torch.device) -> None:
        self.work: list[Callable[[], object]] = []
        self.waits: list[list[tuple[Line, int]]] = []
        self.done = 0
        self._told: list[tuple[Line, int]] = []

    def wait_stream(self, other: "Line") -> None:
        self._told.append((other, len(other.work)))

    def put(self, work: Callable[[], object]) -> None:
        self.work.append(work)
        self.waits.append(list(self._told))

    def may_go_on(self) -> bool:
        return self.done < len(self.work) and all(other.done >= count for other, count in self.waits[self.done])

    def go_on(self) -> None:
        self.work[self.done]()
        self.done += 1


class Cuda:
    """What is used of `torch.cuda`, with one device; copies in a block of a stream are put in its line."""

    def __init__(self) -> None:
        self.training = Line(HERE)
        self.streams = [self.training]
        self.pinned: list[int] = []
        self.code = 0

    def Stream(self, device: torch.device) -> Line:
        self.streams.append(Line(device))
        return self.streams[-1]

    def current_stream(self, device: torch.device) -> Line:
        return self.training

    @contextmanager
    def stream(self, stream: Line) -> Iterator[None]:
        class Later(TorchFunctionMode):
            def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if func is torch.Tensor.copy_:
                    assert kwargs == {"non_blocking": True}
                    stream.put(lambda: func(*args))
                    return args[0]
                return func(*args, **(kwargs or {}))

        with Later():
            yield

    def cudart(self) -> Any:
        def register(address: int, size: int, flags: int) -> int:
            self.pinned.append(address)
            return self.code

        return SimpleNamespace(cudaHostRegister=register, cudaHostUnregister=self.pinned.remove)

    def run(self, order: random.Random) -> None:
        while able := [stream for stream in self.streams if stream.may_go_on()]:
            order.choice(able).go_on()


def on_gpu(memory: torch.Tensor) -> torch.Tensor:
    """The same memory, on a device that answers as a GPU does; reads of it are put in line like a GPU's."""

    class Elsewhere(torch.Tensor):
        device = HERE

    return memory.as_subclass(Elsewhere)


@pytest.mark.parametrize("seed", range(30))
def test_a_copy_sees_what_training_had_put_in_line_and_nothing_that_came_after_the_hold(seed: int) -> None:
    cuda, weight = Cuda(), torch.zeros(64, dtype=torch.uint8)
    copies, pages = CudaCopies([HERE], cuda=cuda), Pages(HostCopies())
    pages.reserve(100)
    for step in (1, 2, 3):
        cuda.training.put(lambda step=step: weight.fill_(step))  # type: ignore[misc]
        copies.begin()
        copies.copy(pages.address, [Source("weight", 20, on_gpu(weight))])
        for _ in range(3):
            cuda.training.put(lambda: None)
        copies.hold_training()
        seen: list[bytes] = []
        cuda.streams[1].put(lambda seen=seen: seen.append(bytes(pages.view[20:84])))  # type: ignore[misc]
        if step == 3:
            cuda.training.put(lambda: weight.fill_(99))
        else:
            cuda.run(random.Random(seed))
            assert seen == [bytes([step]) * 64]
    cuda.run(random.Random(seed))
    assert seen == [b"\x03" * 64]
    assert weight[0] == 99


def test_what_lies_in_the_hosts_memory_is_copied_there_and_then() -> None:
    cuda, pages = Cuda(), Pages(HostCopies())
    pages.reserve(8)
    CudaCopies([HERE], cuda=cuda).copy(pages.address, [Source("step", 3, torch.tensor([7], dtype=torch.uint8))])
    assert pages.view[3] == 7
    assert all(stream.work == [] for stream in cuda.streams)


def test_state_on_a_gpu_without_the_model_is_not_understood() -> None:
    with pytest.raises(CannotOverlap, match="where the model is not"):
        CudaCopies([], cuda=Cuda()).copy(0, [Source("far", 0, on_gpu(torch.zeros(1, dtype=torch.uint8)))])


def test_memory_is_pinned_while_it_is_held_and_no_longer() -> None:
    cuda = Cuda()
    pages = Pages(CudaCopies([], cuda=cuda))
    pages.reserve(10)
    first = pages.address
    assert cuda.pinned == [first]
    pages.reserve(10_000_000)
    assert cuda.pinned == [pages.address]
    del pages
    assert cuda.pinned == []


def test_memory_that_cannot_be_pinned_is_used_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    cuda = Cuda()
    cuda.code = 2
    pages = Pages(CudaCopies([], cuda=cuda))
    pages.reserve(10)
    assert len(pages.view) >= 10
    assert "could not be pinned (CUDA error 2)" in caplog.text


def test_a_forked_process_sees_none_of_the_pages_and_lets_go_of_nothing_but_them() -> None:
    pages = Pages(HostCopies())
    pages.reserve(8_000_000)
    pages.view[:3] = b"own"
    child = os.fork()
    if child == 0:
        seen = bytes(pages.view[:3])
        # Where the pages are, if their place is free.
        others = [memory.take(8_000_000) for _ in range(3)]
        del pages
        for other in others:
            other.write(bytes(len(other)))
        os._exit(0 if seen == bytes(3) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert bytes(pages.view[:3]) == b"own"


def test_without_a_gpu_nothing_of_cuda_is_touched() -> None:
    assert isinstance(copies_for({torch.device("cpu")}), HostCopies)
