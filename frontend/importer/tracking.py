"""What each tensor of the traced program is worth: storages, views, versions.

[Note: functionalisation] The graph has values, the program has tensors that share
memory. A ``Storage`` holds the current value of the tensor that owns the memory (its
base). A ``Tracked`` tensor is such a base, or a view: a step from another tensor. A
view's value is computed when it is read and again after its storage has changed. A
write to a view goes up the steps: each inverse puts the new value into the parent's.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from girih.errors import unsupported
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.registry import ViewStep


@dataclass
class Storage:
    """Memory that tensors share.

    Attributes:
        value: Value of the base, None as long as nothing has been put there.
        version: How often it was written.
        argument: Index of the argument that owns the memory, or None.
        shared: Another argument has the same memory.
    """

    value: Operand | None
    version: int = 0
    argument: int | None = None
    shared: bool = False


@dataclass
class Tracked:
    """A tensor of the program.

    Attributes:
        tensor: The fake tensor; kept, so that its identity stays its own.
        storage: Where it lives.
        parent: What it is a view of, None for the base.
        step: How it is computed from its parent.
    """

    tensor: torch.Tensor
    storage: Storage
    parent: Tracked | None = None
    step: ViewStep | None = None
    _value: Operand | None = None
    _version: int = -1

    @property
    def base(self) -> Tracked:
        """The tensor that owns the memory."""
        entry = self
        while entry.parent is not None:
            entry = entry.parent
        return entry

    def read(self) -> Operand:
        """The current value."""
        if self.parent is None:
            return self.storage.value
        if self._version != self.storage.version:
            self._value = self.step.forward(self.parent.read())
            self._version = self.storage.version
        return self._value

    def write(self, new: Operand) -> None:
        """Makes ``new`` the value, of the same shape and dtype."""
        if self.storage.shared:
            unsupported(
                kind="write to memory of two inputs",
                context=str(tuple(self.tensor.shape)),
                explanation="Two inputs share memory, and one of them is written.",
                hints=("Pass a clone of one of the two.",),
            )
        self._put(new)

    def _put(self, new: Operand) -> None:
        """Puts a value into this tensor and into all that it is a view of."""
        if self.parent is None:
            self.storage.value = new
            self.storage.version += 1
            return
        if self.step.inverse is None:
            unsupported(
                kind="write through a view",
                context=str(tuple(self.tensor.shape)),
                explanation="girih cannot write through this kind of view.",
            )
        self.parent._put(self.step.inverse(self.parent.read(), new))
        self._value, self._version = new, self.storage.version


@dataclass
class Table:
    """All tensors that were met, by identity."""

    entries: dict[int, Tracked] = field(default_factory=dict)

    def get(self, tensor: torch.Tensor) -> Tracked | None:
        """The entry of a tensor, or None."""
        return self.entries.get(id(tensor))

    def add_base(
        self, tensor: torch.Tensor, value: Operand, argument: int | None = None
    ) -> Tracked:
        """Adds a tensor with memory of its own."""
        entry = Tracked(tensor, Storage(value, argument=argument))
        self.entries[id(tensor)] = entry
        return entry

    def add_view(self, tensor: torch.Tensor, parent: Tracked, step: ViewStep) -> None:
        """Adds a view; a tensor that is known already becomes it."""
        self.entries[id(tensor)] = Tracked(tensor, parent.storage, parent, step)
