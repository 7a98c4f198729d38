"""Tensors in the safetensors format: what a package keeps its weights in.

The part is a file of that format, which other programs can read. Tensors that share
memory are stored once. What is read lies in the mapped file, and is not copied.

Source: https://huggingface.co/docs/safetensors/index#format
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from typing import Any

import torch

_NAMES = {
    torch.bfloat16: "BF16",
    torch.bool: "BOOL",
    torch.complex64: "C64",
    torch.float16: "F16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.int16: "I16",
    torch.int32: "I32",
    torch.int64: "I64",
    torch.int8: "I8",
    torch.uint16: "U16",
    torch.uint32: "U32",
    torch.uint64: "U64",
    torch.uint8: "U8",
}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
ALIGNMENT = 64


def can_store(dtype: torch.dtype) -> bool:
    """Whether the format has a name for a dtype."""
    return dtype in _NAMES


def encode(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """A file of contiguous tensors of the processor; each begins at 64 bytes."""
    table: dict[str, Any] = {}
    chunks, end = [], 0
    for name, tensor in tensors.items():
        assert tensor.is_contiguous(), "girih bug: a tensor is not contiguous"
        size = tensor.numel() * tensor.element_size()
        # Readers want no holes between tensors, so padding is a tensor, too.
        if end % ALIGNMENT:
            padding = ALIGNMENT - end % ALIGNMENT
            table[f"__padding_{end}"] = _entry("U8", [padding], end, padding)
            chunks.append(bytes(padding))
            end += padding
        table[name] = _entry(_NAMES[tensor.dtype], list(tensor.shape), end, size)
        chunks.append(ctypes.string_at(tensor.data_ptr(), size) if size else b"")
        end += size
    head = json.dumps(table).encode()
    head += b" " * (-(len(head) + 8) % ALIGNMENT)
    return len(head).to_bytes(8, "little") + head + b"".join(chunks)


def _entry(dtype: str, shape: list[int], start: int, size: int) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, start + size]}


def decode(content: memoryview) -> dict[str, torch.Tensor]:
    """The tensors of a file; they lie in ``content``.

    Raises:
        ValueError: It is no such file.
    """
    size = int.from_bytes(content[:8], "little")
    if len(content) < 8 or size > len(content) - 8:
        raise ValueError("the table of tensors is cut off")
    table, data = json.loads(bytes(content[8 : 8 + size])), content[8 + size :]
    found = {}
    for name, entry in table.items():
        if not name.startswith("__"):
            found[name] = _tensor(name, entry, data)
    return found


def _tensor(name: str, entry: dict, data: memoryview) -> torch.Tensor:
    dtype, shape = _DTYPES.get(entry["dtype"]), entry["shape"]
    begin, end = entry["data_offsets"]
    numbers = [*shape, begin, end]
    if dtype is None or any(type(x) is not int or x < 0 for x in numbers):
        raise ValueError(f"the tensor {name!r} has a wrong type or size")
    count = 1
    for length in shape:
        count *= length
    if not begin <= end <= len(data) or end - begin != count * dtype.itemsize:
        raise ValueError(f"the tensor {name!r} lies outside of the file")
    if count == 0:
        return torch.empty(shape, dtype=dtype)
    flat = torch.frombuffer(data[begin:end], dtype=dtype)
    return flat.reshape(shape)
