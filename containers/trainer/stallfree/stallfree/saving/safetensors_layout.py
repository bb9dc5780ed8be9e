"""The layout of a .safetensors file, byte for byte as `safetensors.torch.save_file` writes it."""

import json
import math
from collections.abc import Mapping

import torch

from stallfree.saving.image import CannotOverlap, Layout, Source

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
        if tensor.dtype not in _NAMES:
            raise CannotOverlap(f"{key} has the type {tensor.dtype}")
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
        sources.append(Source(name=key, offset=at, address=tensor.data_ptr(), size_bytes=tensor.nbytes, tensor=tensor))
        at += tensor.nbytes
    fixed = ((0, len(text).to_bytes(8, "little") + text),)
    return Layout(name=name, size_bytes=at, fixed=fixed, sources=tuple(sources))
