"""What each tensor of the traced program is worth: storages, views, versions.

[Note: functionalisation] The graph has values, the program has tensors that share
memory. A ``Storage`` holds the current value of the tensor that owns the memory (its
base). A ``Tracked`` tensor is such a base, or a view: a step from another tensor. A
view's value is computed when it is read and again after its storage has changed. A
write to a view goes up the steps: each inverse puts the new value into the parent's.
Where derivatives are wanted, the view is then read by way of the parent, too: so go
eager's gradients, and who asks for one by the whole finds all that depends on it.

[Note: writes that autograd does not see] Values and derivatives go different ways where
a tensor shares memory with another one, but not its history: ``x.detach()``, or a view
that is made without grad mode. Such a view has a ``Cut``. A write through it, or one
without grad mode, changes the values of all tensors over the memory; the derivatives
of those beyond the cut stay what they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from girih.errors import unsupported
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.registry import WHOLE, ViewStep


@dataclass
class Storage:
    """Memory that tensors share.

    Attributes:
        value: Value of the base, None as long as nothing has been put there.
        version: How often it was written.
        uncounted: How many of these writes give eager's tensor no new version.
        argument: Index of the argument that owns the memory, or None.
        shared: Another argument has the same memory.
        is_placed: A guard says where in the memory the argument begins.
        placed_views: How many views of the argument were made by ``as_strided`` with an
            offset.
        is_recorded: Whether what is written to a view is read again by way of the
            whole, as eager's gradients go. (Else it is the value that was written.)
    """

    value: Operand | None
    version: int = 0
    uncounted: int = 0
    argument: int | None = None
    shared: bool = False
    is_placed: bool = False
    placed_views: int = 0
    is_recorded: bool = False


# From a new value and the old one: the new value with the derivative of the old one.
Hide = Callable[[Operand, Operand | None], Operand]


@dataclass
class Cut:
    """Between a view and its parent, where the history of the view does not go on.

    Attributes:
        detach: Gives a value without its derivative.
        hide: Gives a value the derivative of another one.
        own: The value of the view whose history it has, None where it has none.
    """

    detach: Callable[[Operand], Operand]
    hide: Hide
    own: Operand | None = None

    def read(self, value: Operand) -> Operand:
        """The view's value, given that of the memory."""
        return self.detach(value) if self.own is None else self.hide(value, self.own)


@dataclass
class Tracked:
    """A tensor of the program.

    Attributes:
        tensor: The fake tensor; kept, so that its identity stays its own.
        storage: Where it lives.
        parent: What it is a view of, None for the base.
        step: How it is computed from its parent.
        cut: Where its history is not its parent's.
        name: Makes a value one of its own, where gradients by the tensor are asked for.
        is_detached: Whether it is a view that has no part in its parent's history.
    """

    tensor: torch.Tensor
    storage: Storage
    parent: Tracked | None = None
    step: ViewStep | None = None
    cut: Cut | None = None
    name: Callable[[Operand], Operand] | None = None
    is_detached: bool = False
    _value: Operand | None = None
    _version: int = -1
    _before: torch.Tensor | None = None

    def __post_init__(self) -> None:
        self._made_at = self.storage.version

    @property
    def is_older_than_a_write(self) -> bool:
        """Whether its memory was written after it was made."""
        return self._made_at != self.storage.version

    @property
    def shown(self) -> torch.Tensor:
        """A tensor that lies as this one did when the steps from here were taken."""
        return self.tensor if self._before is None else self._before

    def leave(self, before: torch.Tensor) -> None:
        """The tensor is about to become a view of what it was, as by ``t_``.

        Args:
            before: An alias of it, which stays.
        """
        self._before = before

    @property
    def base(self) -> Tracked:
        """The tensor that owns the memory."""
        entry = self
        while entry.parent is not None:
            entry = entry.parent
        return entry

    @property
    def has_cut(self) -> bool:
        """Whether its history is not that of its base; it may have one of its own."""
        entry = self
        while entry.parent is not None and entry.cut is None:
            entry = entry.parent
        return entry.cut is not None

    def is_cut(self) -> bool:
        """Whether this tensor has not the history of its base.

        Raises:
            UnsupportedError: It has one of its own.
        """
        entry, found = self, False
        while entry.parent is not None:
            if entry.cut is not None and entry.cut.own is not None:
                unsupported(
                    kind="history of a detached view",
                    context=str(tuple(self.tensor.shape)),
                    explanation="A detached view shares memory with its base, but has "
                    "an autograd history of its own. girih can't return such a tensor "
                    "beside another one with this memory, or call as_strided on it.",
                    hints=("Clone the detached tensor.",),
                )
            entry, found = entry.parent, found or entry.cut is not None
        return found

    def read(self) -> Operand:
        """The current value."""
        if self.parent is None:
            return self.storage.value
        if self._version != self.storage.version:
            value = self.step.forward(self.parent.read())
            value = value if self.cut is None else self.cut.read(value)
            self._value = value if self.name is None else self.name(value)
            self._version = self.storage.version
        return self._value

    def rename(self, name: Callable[[Operand], Operand]) -> None:
        """Makes the value, and each one that is written later, one of its own."""
        if self.parent is not None:
            self._value, self.name = name(self.read()), name
        elif self.storage.argument is None:
            self.storage.value, self.name = name(self.storage.value), name

    def give_history(self, value: Operand) -> None:
        """Gives a tensor without a history that of ``value``, which is equal."""
        if self.parent is not None and self.cut is not None:
            self.cut.own = value
            self._value, self._version = value, self.storage.version
        elif self.parent is None and self.storage.argument is None:
            self.storage.value = value
        else:
            unsupported(
                kind="history of a tensor from outside",
                context=str(tuple(self.tensor.shape)),
                explanation="The program changes the autograd history of an input or "
                "of a view. Other tensors that share its memory would get the new "
                "history, too.",
                hints=("Clone the tensor.",),
            )

    def write(self, new: Operand, hide: Hide | None = None) -> None:
        """Makes ``new`` the value, of the same shape and dtype.

        Args:
            new: The value.
            hide: Given where autograd does not see the write.
        """
        if self.storage.shared:
            unsupported(
                kind="write to memory of two inputs",
                context=str(tuple(self.tensor.shape)),
                explanation="Two inputs share memory, and one of them is written.",
                hints=("Pass a clone of one of the two.",),
            )
        if self.storage.placed_views > 1:
            unsupported(
                kind="write beside as_strided",
                context=str(tuple(self.tensor.shape)),
                explanation="Two views of an argument by as_strided may overlap, and "
                "one of them is written. What eager gives then depends on its loops.",
                hints=("Call as_strided on a clone.",),
            )
        self._put(new, hide)

    def _put(self, new: Operand, hide: Hide | None) -> None:
        """Puts a value into this tensor and into all that it is a view of."""
        if hide is None and self.name is not None:
            new = self.name(new)
        if self.parent is None:
            self.storage.value = new if hide is None else hide(new, self.storage.value)
            self.storage.version += 1
            return
        if self.step.inverse is None:
            unsupported(
                kind="write through a view",
                context=str(tuple(self.tensor.shape)),
                explanation="girih cannot write through this kind of view.",
            )
        beyond = hide
        if self.cut is not None:
            self.cut.own = new if hide is None else self.cut.own
            beyond = self.cut.hide
        self.parent._put(self.step.inverse(self.parent.read(), new), beyond)
        if hide is None and (self.cut is not None or not self.storage.is_recorded):
            self._value, self._version = new, self.storage.version


@dataclass
class Table:
    """All tensors that were met, by identity.

    Attributes:
        is_recorded: Whether derivatives are wanted.
        entries: By the identity of each tensor what is known of it.
    """

    is_recorded: bool = False
    entries: dict[int, Tracked] = field(default_factory=dict)
    _adopted: list[torch.Tensor] = field(default_factory=list)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """A region: what is computed in it is not known outside.

        Raises:
            UnsupportedError: Memory from outside is written in it.
        """
        known = dict(self.entries)
        outside = list(known.values())
        before = [(e.storage.version, e._value, e._version) for e in outside]
        yield
        for entry, (version, *cached) in zip(outside, before, strict=True):
            if entry.storage.version != version:
                unsupported(
                    kind="write in a backward function",
                    context=str(tuple(entry.tensor.shape)),
                    explanation="The backward function writes a tensor that it did not "
                    "make.",
                    hints=("Write to the tensor outside of the backward function.",),
                )
            entry._value, entry._version = cached
        arguments = {
            number: entry
            for number, entry in self.entries.items()
            if entry.storage.argument is not None
        }
        self.entries = arguments | known

    def get(self, tensor: torch.Tensor) -> Tracked | None:
        """The entry of a tensor, or None."""
        return self.entries.get(id(tensor))

    def is_alone(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor of the program has memory of which no other one shows any.

        One without elements may be over the same memory: it shows nothing of it.
        """
        entry = self.get(tensor)
        if entry is None or entry.storage.argument is not None:
            return False
        others = (e for e in self.entries.values() if e.storage is entry.storage)
        return all(other is entry or _is_empty(other.tensor) for other in others)

    def add_base(
        self, tensor: torch.Tensor, value: Operand, argument: int | None = None
    ) -> Tracked:
        """Adds a tensor with memory of its own."""
        entry = Tracked(
            tensor, Storage(value, argument=argument, is_recorded=self.is_recorded)
        )
        self.entries[id(tensor)] = entry
        return entry

    def add_view(
        self,
        tensor: torch.Tensor,
        parent: Tracked,
        step: ViewStep,
        cut: Cut | None = None,
        *,
        is_detached: bool = False,
    ) -> None:
        """Adds a view; a tensor that is known already becomes it."""
        entry = Tracked(tensor, parent.storage, parent, step, cut)
        entry.is_detached = is_detached or cut is not None
        self.entries[id(tensor)] = entry

    def adopt(self, result: object, known: int) -> None:
        """Makes the result of a call the owner of what the call alone has seen.

        ``torch.zeros_like`` of a tensor with a history gives its zeros detached: no
        other tensor is left that shows their memory. ``torch.empty`` does so, too.

        Args:
            result: What the call gave.
            known: How many tensors there were before it.
        """
        entry = self.entries.get(id(result))
        if entry is None or not entry.is_detached or entry.step is not WHOLE:
            return
        owner = entry.parent
        made = itertools.islice(self.entries.values(), known, None)
        is_whole = owner.parent is None and owner.storage.version == 0
        if is_whole and any(owner is other for other in made):
            # While it lives no other tensor has its identity.
            self._adopted.append(owner.tensor)
            owner.tensor = entry.tensor
            self.entries[id(result)] = owner


def _is_empty(tensor: torch.Tensor) -> bool:
    """Whether a tensor is known to have no elements, whatever sizes are symbolic."""
    return any(type(size) is int and size == 0 for size in tensor.shape)
