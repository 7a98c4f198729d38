"""Weights and constants of programs, collected for the file: each memory once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from hashlib import sha256
from typing import Any

import torch

from girih.errors import unsupported
from girih.packaging import constants
from girih.packaging.gpus import ON_GPU
from girih.packaging.names import named_tensors
from girih.packaging.tensors import can_store


class Weights:
    """Tensors that are no arguments, with names.

    Entry points share what is the same memory, seen with the same sizes and strides.

    Args:
        targets: What is packaged, by entry point; tensors have the names by which it
            finds them. Where another one has a tensor of the same name, the name of the
            entry point stands before it.
        gpu: Where the package is for a GPU, the device that stands for it.

    Attributes:
        gpu: As given.
    """

    def __init__(self, targets: Mapping[str, Any], gpu: torch.device | None = None):
        self.gpu = gpu
        self._names: dict[int, str] = {}
        for entry, target in targets.items():
            self._name(entry, target)
        self._tensors: dict[str, torch.Tensor] = {}
        self._originals: list[torch.Tensor] = []  # an id is one's while it lives
        self._views: dict[tuple, list[str]] = {}
        self._known: dict[int, str] = {}
        self._entries: list[set[str]] = []
        self._written: list[set[str]] = []
        self._nothing = torch.empty(0)
        self._names[id(self._nothing)] = "nothing"
        self._packed: dict[str, tuple] = {}
        self._constants: dict[bytes, list[str]] = {}
        self._sources: list[torch.Tensor] = []

    def _name(self, entry: str, target: Any) -> None:
        taken = set(self._names.values())
        for name, tensor in named_tensors(target):
            free = f"{entry}.{name}" if name in taken else name
            self._names.setdefault(id(tensor), free)

    def begin(self) -> None:
        """What is added from here on belongs to the next entry point."""
        self._known = {}
        self._entries.append(set())
        self._written.append(set())

    def write(self, names: Set[str]) -> None:
        """Notes which weights the entry point writes: they are state."""
        self._written[-1] |= names

    def add(self, tensor: torch.Tensor) -> str:
        """Takes a tensor of the entry point; returns its name.

        Raises:
            UnsupportedError: The file can't hold it.
        """
        if id(tensor) in self._known:
            return self._known[id(tensor)]
        view = _view(tensor)
        used = self._entries[-1]
        # Two tensors of one program are two to it, also where they are one in memory.
        same = (name for name in self._views.get(view, ()) if name not in used)
        name = next(same, None) or self._take(tensor, view)
        self._known[id(tensor)] = name
        self._originals.append(tensor)
        used.add(name)
        return name

    def add_nothing(self) -> str:
        """The name of a tensor without elements.

        It stands where a program takes a weight and does not read it.
        """
        return self.add(self._nothing)

    def add_constants(
        self, made: Sequence[torch.Tensor], packed: Sequence[tuple | None]
    ) -> list[str]:
        """Takes what a program needs of weights; returns the names.

        Programs share what is equal, bit for bit.

        Args:
            made: The constants.
            packed: What oneDNN packs each with, or None.
        """
        names: list[str] = []
        for tensor, arguments in zip(made, packed, strict=True):
            known = self._constants.setdefault(_digest(tensor, arguments), [])
            # Two constants of one program are two, also where they are equal.
            name = next((each for each in known if each not in names), None)
            if name is None:
                first = self._tensors[known[0]] if known else tensor
                name = self.add(first.view_as(first))
                known.append(name)
                if arguments is not None:
                    self._packed[name] = arguments
            names.append(name)
        return names

    def depend(self, sources: Sequence[torch.Tensor]) -> None:
        """Notes weights that were read where the package was made, and not later."""
        self._sources += sources

    def _take(self, tensor: torch.Tensor, view: tuple) -> str:
        name = self._names.get(id(tensor), "")
        if not name or name in self._tensors:
            name = f"constant.{len(self._tensors)}"
        is_here = tensor.device.type == "cpu" or tensor.device == self.gpu
        is_plain = is_here and tensor.layout is torch.strided
        is_plain = is_plain and not (tensor.is_conj() or tensor.is_neg())
        if not is_plain or not can_store(tensor.dtype):
            unsupported(
                kind="a weight that no package can hold",
                context=f"{name}: {tensor.dtype} on {tensor.device}, {tensor.layout}",
                explanation="Weights are strided tensors of the cpu, or of the GPU "
                "that code is made for, of a dtype that safetensors has.",
            )
        self._tensors[name] = tensor.detach()
        self._views.setdefault(view, []).append(name)
        return name

    def written(self) -> tuple[dict[str, dict], dict[str, torch.Tensor]]:
        """The table of weights for the manifest, and the tensors that are stored.

        Weights that overlap in memory lie in one stored tensor.

        Raises:
            UnsupportedError: An entry point writes one that shares memory with another
                one of its weights, or with one that can't lie in the same tensor; or it
                writes what constants were computed of.
        """
        table: dict[str, dict] = {}
        stored: dict[str, torch.Tensor] = {}
        state = set().union(*self._written)
        groups = self._groups()
        self._check_apart(groups, state)
        self._check_sources(state)
        for group in groups:
            self._check(group)
            first = min(_start(self._tensors[name]) for name in group)
            end = max(_end(self._tensors[name]) for name in group)
            name = min(group, key=lambda each: -self._tensors[each].numel())
            tensor = self._tensors[name]
            if not (tensor.is_contiguous() and tensor.numel() == end - first):
                tensor = tensor.as_strided((end - first,), (1,), first)
            stored[name] = tensor.cpu()
            for each in group:
                weight = self._tensors[each]
                table[each] = {
                    "tensor": name,
                    "offset": _start(weight) - first,
                    "sizes": list(weight.shape),
                    "strides": list(weight.stride()),
                    "written": each in state,
                }
                if weight.device == self.gpu:
                    table[each]["device"] = ON_GPU
                if each in self._packed:
                    written = constants.encode(self._packed[each], {})
                    table[each]["packed"] = written
        order = list(self._tensors)
        return {name: table[name] for name in order}, stored

    def _check(self, group: list[str]) -> None:
        for names, state in zip(self._entries, self._written, strict=True):
            used = names.intersection(group)
            if len(used) > 1 and not state.isdisjoint(used):
                _refuse(used)

    def _check_apart(self, groups: list[list[str]], state: set[str]) -> None:
        """Refuses state in two stored tensors, as an array that has two dtypes."""
        spans = sorted(
            (*_bytes_of(self._tensors[name]), number, name)
            for number, group in enumerate(groups)
            for name in group
            if self._tensors[name].numel()
        )
        written = {n for n, group in enumerate(groups) if not state.isdisjoint(group)}
        for at, (_, end, one, name) in enumerate(spans):
            for start, _, two, other in spans[at + 1 :]:
                if start >= end:
                    break
                if one != two and not written.isdisjoint((one, two)):
                    _refuse({name, other})

    def _check_sources(self, state: set[str]) -> None:
        """Refuses state that constants were computed of."""
        memory = {weight.untyped_storage()._cdata for weight in self._sources}
        for name in sorted(state):
            if self._tensors[name].untyped_storage()._cdata in memory:
                unsupported(
                    kind="a package with freezing that writes a weight",
                    context=name,
                    explanation="With freezing, what depends on weights alone is "
                    "computed where the package is made. One entry point writes such "
                    "a weight.",
                    hints=("Leave freezing out, or make two packages.",),
                )

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


def _digest(tensor: torch.Tensor, packed: tuple | None) -> bytes:
    """That of all that a constant is."""
    kind = f"{tensor.dtype} {tuple(tensor.shape)} {tensor.stride()} {packed}"
    found = sha256(kind.encode())
    content = tensor.detach().contiguous().reshape(-1).view(torch.uint8)
    found.update(content.numpy())
    return found.digest()


def _refuse(names: Set[str]) -> None:
    unsupported(
        kind="a package that writes a weight which shares memory",
        context=", ".join(sorted(names)),
        explanation="The program writes one of them, and reads another.",
    )


def _bytes_of(tensor: torch.Tensor) -> tuple[int, int]:
    """Where a tensor begins in memory, and ends."""
    start = tensor.data_ptr()
    return start, start + (_end(tensor) - _start(tensor)) * tensor.element_size()


def _view(tensor: torch.Tensor) -> tuple:
    """Which elements of which memory a tensor has; itself where it has no memory."""
    if tensor.layout is not torch.strided or not tensor.numel():
        return (id(tensor),)
    memory = tensor.untyped_storage()._cdata
    place = (tensor.storage_offset(), tensor.shape, tensor.stride())
    return (memory, tensor.dtype, tensor.device, *place)


def _start(tensor: torch.Tensor) -> int:
    return tensor.storage_offset()


def _end(tensor: torch.Tensor) -> int:
    """Behind the last element in its storage."""
    if tensor.numel() == 0:
        return _start(tensor)
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return _start(tensor) + 1 + sum((size - 1) * step for size, step in steps)
