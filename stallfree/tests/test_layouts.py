"""File images have, byte for byte, what the libraries themselves would have written."""

import threading
import zipfile
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from stallfree.checkpoint import manifest
from stallfree.direct_io.writing import write_durably
from stallfree.saving.images import safetensors_layout, torch_layout
from stallfree.saving.images.copies import HostCopies
from stallfree.saving.images.image import Image
from stallfree.saving.images.layout import Content, Layout


def filled(layout: Layout) -> Image:
    image = Image(HostCopies())
    image.lay_out(layout)
    image.take(layout.sources)
    image.seal()
    return image


def optimizer_after_a_step(kind: type[torch.optim.Optimizer], **settings: Any) -> torch.optim.Optimizer:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(33, 65), torch.nn.Linear(65, 7)).bfloat16()
    optimizer = kind(model.parameters(), **settings)
    model(torch.rand(2, 33).bfloat16()).sum().backward()
    optimizer.step()
    return optimizer


def test_a_model_file_is_the_one_that_safetensors_writes(tmp_path: Path) -> None:
    types = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.uint16, torch.float16, torch.bfloat16]
    types += [torch.int32, torch.uint32, torch.float32, torch.complex64, torch.float64, torch.int64, torch.uint64]
    tensors = {f"{order}.größe.{dtype}": torch.ones(3, 5).to(dtype) for order in "ba" for dtype in types}
    tensors |= {"empty": torch.zeros(0, 4), "scalar": torch.tensor(2.5), 'quo"ted': torch.arange(7)}
    save_file(tensors, tmp_path / "model.safetensors", metadata={"format": "pt"})
    image = filled(safetensors_layout.layout_of("model.safetensors", tensors, {"format": "pt"}))
    assert bytes(image.content) == (tmp_path / "model.safetensors").read_bytes()


shared = torch.arange(12.0)

CONTENTS: dict[str, Any] = {
    "AdamW": lambda: optimizer_after_a_step(torch.optim.AdamW, amsgrad=True).state_dict(),
    "SGD without a state": lambda: optimizer_after_a_step(torch.optim.SGD, lr=0.1).state_dict(),
    "Adafactor": lambda: optimizer_after_a_step(torch.optim.Adafactor).state_dict(),
    "LBFGS's lists": lambda: {"state": {0: {"old_dirs": [torch.rand(9), torch.rand(9)], "d": None}}},
    "views of one storage": lambda: OrderedDict(one=shared, other=shared[3:5], t=shared.view(3, 4).t()),
    "nothing": dict,
    "tensors of nothing": lambda: [torch.empty(0), torch.rand(9), torch.empty(0, 3), torch.empty(0).bfloat16()],
    "memory that no tensor shows": lambda: {"bare": torch.arange(4.0).untyped_storage()},
    "a sparse tensor": lambda: {"sparse": torch.eye(5).to_sparse()},
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_an_optimizer_file_is_the_one_that_torch_writes(tmp_path: Path, content: Any) -> None:
    state = content()
    torch.save(state, tmp_path / "optimizer.pt")
    image = filled(torch_layout.layout_of("optimizer.pt", state))
    assert bytes(image.content) == (tmp_path / "optimizer.pt").read_bytes()
    (tmp_path / "image").write_bytes(image.content)
    assert zipfile.ZipFile(tmp_path / "image").testzip() is None, "every checksum inside is right"


def test_an_image_is_taken_again_in_the_same_memory() -> None:
    weight = torch.zeros(1000)
    layout = safetensors_layout.layout_of("model.safetensors", {"weight": weight}, {})
    image = filled(layout)
    before = bytes(image.content)
    weight.fill_(7)
    image.take(layout.sources)
    assert bytes(image.content) != before
    assert bytes(image.content) == bytes(filled(layout).content)


@pytest.mark.parametrize("size", [0, 1, 4096, 40_000_001])
@pytest.mark.parametrize("folder", ["on a disk", "in memory"])
def test_what_is_written_is_what_was_described(size: int, folder: str, tmp_path: Path) -> None:
    # /dev/shm refuses direct writes on many kernels: it stands for every file system that does.
    file = (tmp_path if folder == "on a disk" else Path("/dev/shm")) / f"belay-test-{size}.safetensors"
    noise = torch.randint(0, 255, (size,), dtype=torch.uint8)
    image = filled(safetensors_layout.layout_of(file.name, {"noise": noise}, {"format": "pt"}))
    try:
        with ThreadPoolExecutor(2) as writers:
            write_durably(file, image.whole_pages, len(image.content), writers)
        described = image.describe()
        assert file.stat().st_size == described.bytes
        assert manifest.checksum(file) == described.crc64nvme
        assert file.read_bytes() == bytes(image.content)
    finally:
        file.unlink(missing_ok=True)


def test_final_bytes_are_written_while_the_rest_is_still_being_sealed(tmp_path: Path) -> None:
    optimizer = optimizer_after_a_step(torch.optim.AdamW)
    layout = torch_layout.layout_of("optimizer.pt", optimizer.state_dict())
    may_go_on = threading.Event()

    def seal_slowly(content: Content) -> Iterator[int]:
        for end in layout.seal(content):
            yield end
            assert may_go_on.wait(60)

    image = Image(HostCopies())
    image.lay_out(replace(layout, seal=seal_slowly))
    image.take(layout.sources)
    with ThreadPoolExecutor(4) as threads, ThreadPoolExecutor(1) as writer:
        sealed = threads.submit(image.seal)
        # What was settled first can be had while the seal goes on; the whole file cannot.
        threads.submit(image.wait_until_final, 1).result(timeout=60)
        described = threads.submit(image.describe)
        written = writer.submit(
            write_durably,
            tmp_path / "ours.pt",
            image.whole_pages,
            layout.size_bytes,
            threads,
            image.wait_until_final,
        )
        with pytest.raises(TimeoutError):
            written.result(timeout=0.3)
        may_go_on.set()
        written.result()
        sealed.result()
        assert (tmp_path / "ours.pt").read_bytes() == bytes(image.content)
        assert described.result().crc64nvme == manifest.checksum(tmp_path / "ours.pt")
    assert bytes(image.content) == bytes(filled(layout).content)


def test_a_seal_that_fails_leaves_nobody_waiting() -> None:
    def fail(content: Content) -> Iterator[int]:
        raise OSError("no more")
        yield 0

    image = Image(HostCopies())
    image.lay_out(Layout(name="broken", size_bytes=10, fixed=(), sources=(), seal=fail))
    with pytest.raises(OSError, match="no more"):
        image.seal()
    image.wait_until_final(10)
