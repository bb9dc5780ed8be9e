"""The layout of a file of `torch.save`, byte for byte, without writing the data: PyTorch itself writes the skeleton.

Such a file is a zip archive, its tensors uncompressed. `skip_data` leaves holes where they belong, and zeros where
their CRC-32s and the id made of these belong: the sources fill the holes, `seal` fills in the rest.
"""

import os
import pickle
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import getclosurevars
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from zlib_ng import zlib_ng

from stallfree.internals.pytorch import with_data
from stallfree.saving.images.layout import CannotOverlap, Content, Layout, Source, check_device

_LOCAL_HEADER_BYTES = 30
_CENTRAL_HEADER_BYTES = 46
_DESCRIPTOR = b"PK\x07\x08"
_ID = ".data/serialization_id"
_HALF_AN_ID = 20
_64_BITS = (1 << 64) - 1


@dataclass(frozen=True)
class _Record:
    name: str
    offset: int
    size_bytes: int
    crc32: int
    central: int
    """Where its entry in the archive's directory begins."""

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes

    @property
    def is_tensor(self) -> bool:
        return self.name.startswith("data/")


def layout_of(name: str, content: Any, *, folder: Path | None = None) -> Layout:
    """The skeleton is written into the folder, and read back."""
    storages: list[torch.UntypedStorage] = []
    with tempfile.TemporaryDirectory(dir=folder) as own:
        # PyTorch names the archive's root folder after the file.
        path = Path(own, name)
        with torch.serialization.skip_data():
            torch.save(content, path, pickle_module=_noting(storages))
        return _read_skeleton(path, storages)


def _noting(storages: list[torch.UntypedStorage]) -> Any:
    """A pickle module that notes the memory that PyTorch finds while it pickles, in the order of the file's records."""

    class Pickler(pickle.Pickler):
        def dump(self, value: Any) -> None:
            # An object may call torch.save while it is pickled: its bytes must have no holes.
            with with_data():
                super().dump(value)
            storages.extend(_found_by(type(self)))

    return SimpleNamespace(__name__=pickle.__name__, Pickler=Pickler)


def _found_by(pickler: type[pickle.Pickler]) -> list[torch.UntypedStorage]:
    """PyTorch derives a pickler of its own from ours, whose `persistent_id` keeps what is to be written."""
    try:
        identify = getclosurevars(pickler.persistent_id).nonlocals["persistent_id"]
        return list(getclosurevars(identify).nonlocals["serialized_storages"].values())
    except (KeyError, TypeError) as error:
        raise CannotOverlap("this version of PyTorch pickles in an unknown way") from error


def _read_skeleton(path: Path, storages: list[torch.UntypedStorage]) -> Layout:
    records = _records(path)
    holes = [record for record in records if record.is_tensor]
    if [hole.size_bytes for hole in holes] != [storage.nbytes() for storage in storages]:
        raise CannotOverlap("PyTorch writes its state in an unknown order")
    total = path.stat().st_size
    with path.open("rb") as file:
        begins, ends = [0, *(hole.end for hole in holes)], [*(hole.offset for hole in holes), total]
        fixed = tuple(
            (begin, os.pread(file.fileno(), end - begin, begin)) for begin, end in zip(begins, ends, strict=True)
        )
    sources = tuple(
        Source(name=hole.name, offset=hole.offset, memory=_bytes_of(storage))
        for hole, storage in zip(holes, storages, strict=True)
    )
    return Layout(name=path.name, size_bytes=total, fixed=fixed, sources=sources, seal=_sealing(records))


def _bytes_of(storage: torch.UntypedStorage) -> torch.Tensor:
    check_device(storage.device)
    return torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)


def _records(path: Path) -> list[_Record]:
    """In the order of the file, which is also that of its directory."""
    records = []
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        central = archive.start_dir
        for entry in archive.infolist():
            header = os.pread(file.fileno(), _LOCAL_HEADER_BYTES, entry.header_offset)
            names = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
            record = _Record(
                name=entry.filename.split("/", 1)[1],
                offset=entry.header_offset + _LOCAL_HEADER_BYTES + names,
                size_bytes=entry.file_size,
                crc32=entry.CRC,
                central=central,
            )
            # What is empty has none.
            if record.size_bytes and os.pread(file.fileno(), len(_DESCRIPTOR), record.end) != _DESCRIPTOR:
                raise CannotOverlap("this version of PyTorch lays its files out in an unknown way")
            records.append(record)
            directory_entry = os.pread(file.fileno(), _CENTRAL_HEADER_BYTES, central)
            variable = sum(int.from_bytes(directory_entry[at : at + 2], "little") for at in (28, 30, 32))
            central += _CENTRAL_HEADER_BYTES + variable
    return records


def _sealing(records: list[_Record]) -> Callable[[Content], Iterator[int]]:
    def seal(content: Content) -> Iterator[int]:
        combined = 0
        for record in records:
            if not record.size_bytes:
                continue  # It has no checksum, in the id neither.
            if record.name == _ID:
                # The first half is made of the records' names, the second of their checksums.
                content[record.offset + _HALF_AN_ID : record.end] = f"{combined:0{_HALF_AN_ID}d}".encode()
            crc32 = record.crc32
            if record.is_tensor or record.name == _ID:
                crc32 = _crc32(content, record.offset, record.end)
                for at in (record.end + len(_DESCRIPTOR), record.central + 16):
                    content[at : at + 4] = crc32.to_bytes(4, "little")
            combined = _combine(combined, crc32)
            # The descriptor that follows is not counted: it comes with the next one. The directory at the end is last.
            yield record.end

        yield len(content)

    return seal


def _crc32(content: Content, begin: int, end: int) -> int:
    value = 0
    while begin < end:
        there = content[begin:end]
        value = zlib_ng.crc32(there, value)
        begin += len(there)
    return value


def _combine(seed: int, value: int) -> int:
    """How PyTorch combines checksums."""
    return seed ^ ((value + 0x9E3779B9 + (seed << 6) + (seed >> 2)) & _64_BITS)
