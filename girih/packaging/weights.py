"""Weights and constants of a program, collected for the file: each memory once."""

from __future__ import annotations

from typing import Any

import torch

from girih.errors import unsupported
from girih.packaging.tensors import can_store


class Weights:
    """Tensors that are no arguments, with names.

    Args:
        target: What is packaged; a module's tensors have their names in it.
    """

    def __init__(self, target: Any):
        self._names: dict[int, str] = {}
        if isinstance(target, torch.nn.Module):
            for found in (target.named_parameters(), target.named_buffers()):
                for name, tensor in found:
                    self._names.setdefault(id(tensor), name)
        self._tensors: dict[str, torch.Tensor] = {}
        self._known: dict[int, str] = {}

    def add(self, tensor: torch.Tensor) -> str:
        """Takes a tensor; returns its name.

        Raises:
            UnsupportedError: The file can't hold it.
        """
        if id(tensor) in self._known:
            return self._known[id(tensor)]
        name = self._names.get(id(tensor)) or f"constant.{len(self._tensors)}"
        is_plain = tensor.layout is torch.strided and tensor.device.type == "cpu"
        is_plain = is_plain and not (tensor.is_conj() or tensor.is_neg())
        if not is_plain or not can_store(tensor.dtype):
            unsupported(
                kind="a weight that no package can hold",
                context=f"{name}: {tensor.dtype} on {tensor.device}, {tensor.layout}",
                explanation="Weights are strided tensors of the cpu, of a dtype that "
                "safetensors has.",
            )
        self._known[id(tensor)] = name
        self._tensors[name] = tensor.detach()
        return name

    def written(
        self, state: set[str]
    ) -> tuple[dict[str, dict], dict[str, torch.Tensor]]:
        """The table of weights for the manifest, and the tensors that are stored.

        Weights that overlap in memory lie in one stored tensor.

        Args:
            state: Names of those that the program writes.

        Raises:
            UnsupportedError: One of these shares memory with another weight.
        """
        table: dict[str, dict] = {}
        stored: dict[str, torch.Tensor] = {}
        for group in self._groups():
            if len(group) > 1 and not state.isdisjoint(group):
                unsupported(
                    kind="a package that writes a weight which shares memory",
                    context=", ".join(group),
                    explanation="The program writes one of them, and reads another.",
                )
            first = min(_start(self._tensors[name]) for name in group)
            end = max(_end(self._tensors[name]) for name in group)
            name = min(group, key=lambda each: -self._tensors[each].numel())
            tensor = self._tensors[name]
            if not (tensor.is_contiguous() and tensor.numel() == end - first):
                tensor = tensor.as_strided((end - first,), (1,), first)
            stored[name] = tensor
            for each in group:
                weight = self._tensors[each]
                table[each] = {
                    "tensor": name,
                    "offset": _start(weight) - first,
                    "sizes": list(weight.shape),
                    "strides": list(weight.stride()),
                    "written": each in state,
                }
        order = list(self._tensors)
        return {name: table[name] for name in order}, stored

    def _groups(self) -> list[list[str]]:
        """Names of weights whose elements overlap."""
        groups: list[list[str]] = []
        ends: dict[tuple, int] = {}
        last: dict[tuple, list[str]] = {}
        for name in sorted(self._tensors, key=lambda n: _start(self._tensors[n])):
            tensor = self._tensors[name]
            memory = (tensor.untyped_storage()._cdata, tensor.dtype)
            if memory in ends and _start(tensor) < ends[memory] and tensor.numel():
                last[memory].append(name)
            else:
                last[memory] = [name]
                groups.append(last[memory])
            ends[memory] = max(ends.get(memory, 0), _end(tensor))
        return groups


def _start(tensor: torch.Tensor) -> int:
    return tensor.storage_offset()


def _end(tensor: torch.Tensor) -> int:
    """Behind the last element in its storage."""
    if tensor.numel() == 0:
        return _start(tensor)
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return _start(tensor) + 1 + sum((size - 1) * step for size, step in steps)
