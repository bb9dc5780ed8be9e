"""The layout of a .safetensors file, byte for byte as `safetensors.torch.save_file` writes it."""

import json
import math
from collections.abc import Mapping

import torch

from stallfree.saving.images.layout import CannotOverlap, Layout, Source, check_plain

# In the order in which the format puts them: the largest alignment comes first.
_NAMES = {
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float64: "F64",
    torch.complex64: "C64",
    torch.float32: "F32",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.bfloat16: "BF16",
    torch.float16: "F16",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_RANK = {dtype: rank for rank, dtype in enumerate(_NAMES)}


def layout_of(name: str, tensors: Mapping[str, torch.Tensor], metadata: Mapping[str, str]) -> Layout:
    if len(metadata) > 1:
        raise CannotOverlap("the model file carries metadata of its own")
    for key, tensor in tensors.items():
        check_plain(tensor, key)
        if tensor.dtype not in _NAMES:
            raise CannotOverlap(f"{key} has the type {tensor.dtype}")
        if not tensor.is_contiguous():
            raise CannotOverlap(f"{key} is not in one piece")
    _check_apart(tensors)
    order = sorted(tensors, key=lambda key: (_RANK[tensors[key].dtype], key.encode()))
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for key in order:
        tensor = tensors[key]
        begin, end = end, end + math.prod(tensor.shape) * tensor.element_size()
        header[key] = {"dtype": _NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    start = 8 + len(text)
    sources, at = [], start
    for key in order:
        tensor = tensors[key]
        memory = tensor.detach().view(-1).view(torch.uint8)
        sources.append(Source(name=key, offset=at, memory=memory, counting=tensor))
        at += tensor.nbytes
    fixed = ((0, len(text).to_bytes(8, "little") + text),)
    return Layout(name=name, size_bytes=at, fixed=fixed, sources=tuple(sources))


def _check_apart(tensors: Mapping[str, torch.Tensor]) -> None:
    """safetensors itself refuses to write the same memory twice."""
    end, last = 0, ""
    for key, tensor in sorted(tensors.items(), key=lambda item: item[1].data_ptr()):
        if tensor.nbytes and tensor.data_ptr() < end:
            raise CannotOverlap(f"{key} shares its memory with {last}")
        end, last = tensor.data_ptr() + tensor.nbytes, key
