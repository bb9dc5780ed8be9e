"""How the bytes of live tensors get into pages of this host: at once from its own memory, queued from a GPU's.

What is queued on a GPU is ordered by its streams; only the thread that writes waits for it.
"""

import ctypes
import logging
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol

import torch

from stallfree.saving.images.layout import CannotOverlap, Source

logger = logging.getLogger(__name__)


class Copies(Protocol):
    def begin(self) -> None:
        """Copy the state as of the work that training has queued up to now. Called by the training thread."""

    def copy(self, address: int, sources: Iterable[Source]) -> None:
        """Queue copies: each source's bytes to its place after the address."""

    def hold_training(self) -> None:
        """Training's next work runs after the queued copies. Called by the training thread, which does not wait."""

    def finish(self) -> None:
        """Return when the queued copies are done."""

    @contextmanager
    def in_line(self) -> Iterator[None]:
        """What PyTorch itself reads from a GPU in this block is the state as of `begin`."""
        yield

    def pin(self, address: int, size: int) -> None: ...

    def unpin(self, address: int) -> None: ...


class HostCopies:
    """Memory to memory: each copy is done at once."""

    def begin(self) -> None: ...

    def copy(self, address: int, sources: Iterable[Source]) -> None:
        # ctypes releases the interpreter's lock, and uses no threads.
        for source in sources:
            ctypes.memmove(address + source.offset, source.memory.data_ptr(), source.size_bytes)

    def hold_training(self) -> None: ...

    def finish(self) -> None: ...

    @contextmanager
    def in_line(self) -> Iterator[None]:
        yield

    def pin(self, address: int, size: int) -> None: ...

    def unpin(self, address: int) -> None: ...


class CudaCopies:
    """From each GPU on a stream of its own, beside the one that training uses, into pinned pages."""

    def __init__(self, devices: Collection[torch.device], *, cuda: Any = torch.cuda) -> None:
        self._cuda = cuda
        self._sides = {device: cuda.Stream(device) for device in devices}
        self._host = HostCopies()

    def begin(self) -> None:
        for device, side in self._sides.items():
            side.wait_stream(self._cuda.current_stream(device))

    def copy(self, address: int, sources: Iterable[Source]) -> None:
        for source in sources:
            device = source.memory.device
            if device.type == "cpu":
                self._host.copy(address, [source])
            elif device not in self._sides:
                raise CannotOverlap(f"{source.name} is on {device}, where the model is not")
            elif source.size_bytes:
                with self._cuda.stream(self._sides[device]):
                    _bytes_at(address + source.offset, source.size_bytes).copy_(source.memory, non_blocking=True)

    def hold_training(self) -> None:
        for device, side in self._sides.items():
            self._cuda.current_stream(device).wait_stream(side)

    def finish(self) -> None:
        for side in self._sides.values():
            side.synchronize()

    @contextmanager
    def in_line(self) -> Iterator[None]:
        with ExitStack() as streams:
            for side in self._sides.values():
                streams.enter_context(self._cuda.stream(side))
            yield

    def pin(self, address: int, size: int) -> None:
        if code := int(self._cuda.cudart().cudaHostRegister(address, size, 0)):
            # Still correct, but each copy from the GPU waits for the one before it.
            logger.warning("Memory for checkpoints could not be pinned (CUDA error %s): copies take longer.", code)

    def unpin(self, address: int) -> None:
        self._cuda.cudart().cudaHostUnregister(address)


def copies_for(devices: Collection[torch.device]) -> Copies:
    gpus = {device for device in devices if device.type == "cuda"}
    return CudaCopies(gpus) if gpus else HostCopies()


def _bytes_at(address: int, size: int) -> torch.Tensor:
    return torch.frombuffer((ctypes.c_char * size).from_address(address), dtype=torch.uint8)
