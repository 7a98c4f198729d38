"""The results of the function: values, aliasing, and what is written back."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor

from girih.dialects import keys
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size
from girih.errors import UnsupportedError, unsupported
from girih.frontend.importer.builder import Operand
from girih.frontend.importer.computed import Symbolic, number_of
from girih.frontend.importer.devices import check_device
from girih.frontend.importer.differentiation import is_differentiable, origin_of
from girih.frontend.importer.edges import is_one_of_several
from girih.frontend.importer.lazy_bits import NONE, Bits, bits_of, recorded_with
from girih.frontend.importer.leaves import NEW_LEAF
from girih.frontend.importer.recorder import Recorder
from girih.frontend.importer.tracking import Storage, Tracked
from girih.frontend.importer.unused import unused_checks

_UNKNOWN_NODE = "Unbind 0 0"


class OutputSlot(NamedTuple):
    """Where a returned value is found.

    Attributes:
        kind: ``result`` (of the compiled function), ``input`` (the caller's own
            object), ``computed`` (a number) or ``constant``.
        value: Index of the result or of the input, a function of the inputs of the
            call, or the constant itself.
        bits: What is toggled of a result or an input, see [Note: lazy bits].
    """

    kind: str
    value: Any
    bits: Bits = NONE


def flatten_output(output: Any) -> tuple[list, object | None]:
    """The returned values in a list, and a pytree spec unless they are a flat tuple."""
    if isinstance(output, (tuple, list)) and not hasattr(output, "_fields"):
        if not any(isinstance(item, (tuple, list, dict)) for item in output):
            return list(output), None
    from torch.utils import _pytree

    return _pytree.tree_flatten(output)


class Results:
    """Collects the results of the function.

    Attributes:
        values: SSA values.
        attributes: Attributes of each result.
        written: Numbers of the arguments that are written.
    """

    def __init__(self, recorder: Recorder, inputs: list):
        self.values: list[ir.Value] = []
        self.attributes: list[dict] = []
        self.written: list[int] = []
        self._recorder = recorder
        self._inputs = inputs
        self._positions = {
            id(value): i for i, value in enumerate(inputs) if value is not None
        }
        self._placed: dict[int, OutputSlot] = {}
        self._owners: dict[int, tuple[str, torch.Tensor]] = {}

    def place(self, value: Any) -> OutputSlot:
        """Makes a returned value a result, unless it is an input or a constant."""
        if isinstance(value, torch.Tensor):
            known = self._placed.get(id(value))
            if known is None:
                known = self._placed[id(value)] = self._place_tensor(value)
            return known
        if isinstance(value, torch.SymInt):
            return self._place_size(value)
        if isinstance(value, (torch.SymFloat, torch.SymBool)):
            return self._place_number(value)
        return OutputSlot("constant", value)

    def without_bits(self, value: Any) -> tuple[Any, Bits]:
        """A returned value as a program has it, and the bits that it lacks then."""
        is_own = isinstance(value, FakeTensor) and id(value) not in self._positions
        if not is_own or (bits := bits_of(value)) == NONE:
            return value, NONE
        if self._recorder.lifted_from(value) is not None:
            return value, NONE
        entry = self._recorder.tracked(value)
        is_kept = entry.parent is not None and entry.cut is None
        if is_kept and _is_alike(entry.parent.tensor, value):
            return entry.parent.tensor, bits
        bare = recorded_with(self._recorder, value, bits)
        return bare, bits._replace(is_recorded=not self._is_unrecorded(value))

    def _is_unrecorded(self, tensor: torch.Tensor) -> bool:
        derivatives = self._recorder.derivatives
        return derivatives is not None and id(tensor) in derivatives.unrecorded

    def _place_tensor(self, tensor: torch.Tensor) -> OutputSlot:
        position = self._positions.get(id(tensor))
        if position is not None:
            return OutputSlot("input", position)
        if not isinstance(tensor, FakeTensor):
            return OutputSlot("constant", tensor)
        constant = self._recorder.lifted_from(tensor)
        if constant is not None:
            return OutputSlot("constant", constant)
        check_device(tensor, self._recorder.builder.device)
        self._share(tensor)
        return self._append(tensor)

    def _append(self, tensor: torch.Tensor) -> OutputSlot:
        operand = self._recorder.operand(tensor)
        attributes = self._strides(tensor, operand)
        entry = self._recorder.tracked(tensor)
        storage = entry.storage
        attributes.update(self._ends(tensor, operand))
        owner = self._owners.get(id(storage))
        if owner is not None:
            entry.is_cut()  # the owner carries the gradient
            name, base = owner
            _expect_same_dtype(tensor, base)
            attributes[keys.STORAGE] = ir.StringAttr.get(name)
            attributes[keys.OFFSET] = _size(self._offset(tensor, base))
        else:
            self._owners[id(storage)] = (f"out{len(self.values)}", tensor)
        if tensor._is_view():
            attributes[keys.VIEW] = ir.UnitAttr.get()
            attributes.update(self._node(tensor, entry))
        return self._add(operand.value, attributes)

    def _node(self, tensor: torch.Tensor, entry: Tracked) -> dict:
        """What makes a view that eager allows no one to write."""
        derivatives = self._recorder.derivatives
        if derivatives is None:
            return {}
        if is_one_of_several(tensor):
            _expect_usable(entry)
        elif id(tensor) not in derivatives.unwritable:
            return {}
        node = derivatives.several.get(id(tensor), _UNKNOWN_NODE)
        return {keys.SPLIT: ir.StringAttr.get(node)}

    def _strides(self, tensor: torch.Tensor, operand: Operand) -> dict:
        """Eager's strides, where they are not those of rows one after the other.

        Those of dims in which there is one element, or none, can be seen, too.
        """
        size = self._recorder.symbols.size
        strides = tuple(size(stride) for stride in tensor.stride())
        if strides == ty.contiguous_strides(operand.shape):
            return {}
        return {keys.STRIDES: _sizes(strides)}

    def _add(self, value: ir.Value, attributes: dict) -> OutputSlot:
        self.values.append(value)
        self.attributes.append(attributes)
        return OutputSlot("result", len(self.values) - 1)

    def _ends(self, tensor: torch.Tensor, operand: Operand) -> dict:
        """How the derivative of a result ends, where it does not go to an argument."""
        derivatives, found = self._recorder.derivatives, []
        if derivatives is not None:
            found += [keys.UNRECORDED] * (id(tensor) in derivatives.unrecorded)
            found += [keys.SEVERED] * (id(tensor) in derivatives.severed)
        if found or self._is_detached(tensor, operand):
            found.append(keys.DETACHED)
        return dict.fromkeys(found, ir.UnitAttr.get())

    def _is_detached(self, tensor: torch.Tensor, value: Operand) -> bool:
        """Whether the result requires no gradient, where it might."""
        derivatives = self._recorder.derivatives
        if derivatives is None or not is_differentiable(value.dtype):
            return False
        if derivatives.is_leaf(tensor):
            unsupported(
                kind=NEW_LEAF,
                context=f"{tuple(tensor.shape)} {tensor.dtype}",
                explanation="A tensor that the program makes, and that requires a "
                "gradient by itself, cannot be the result of a graph.",
            )
        return not derivatives.requires_gradient(tensor, value)

    def _offset(self, tensor: torch.Tensor, base: torch.Tensor) -> Size:
        size = self._recorder.symbols.size
        return size(tensor.storage_offset()) - size(base.storage_offset())

    def _share(self, tensor: torch.Tensor) -> None:
        """Finds the owner of a result's storage if it is an argument."""
        storage = self._recorder.tracked(tensor).storage
        if id(storage) in self._owners or storage.argument is None:
            return
        for entry in self._recorder.arguments:
            if entry.storage is storage:
                name = f"arg{storage.argument}"
                self._owners[id(storage)] = (name, entry.tensor)

    def share_views(self, values: list) -> None:
        """Makes a base a result of its own where several views of it are returned.

        The owner of a storage must hold all of it and stand first; where the program
        does not return it first, it is an additional result.
        """
        views: dict[int, list[Tracked]] = {}
        for value in values:
            if isinstance(value, FakeTensor) and self._is_computed(value):
                entry = self._recorder.tracked(value)
                views.setdefault(id(entry.storage), []).append(entry)
        for members in views.values():
            distinct = {id(member.tensor) for member in members}
            if len(distinct) > 1:
                owner = _owner_of(members[0])
                _expect_whole(owner)
                if owner is not members[0]:
                    self._placed[id(owner.tensor)] = self._append(owner.tensor)

    def _is_computed(self, tensor: FakeTensor) -> bool:
        return self._recorder.tracked(tensor).storage.argument is None

    def _place_number(self, value: Symbolic) -> OutputSlot:
        found = number_of(value, self._inputs)
        return OutputSlot("computed" if callable(found) else "constant", found)

    def _place_size(self, value: torch.SymInt) -> OutputSlot:
        if self._recorder.symbols.is_number(value):
            return self._place_number(value)
        try:
            size = self._recorder.symbols.size(value)
        except UnsupportedError:  # no size of a tensor has such a function
            return self._place_number(value)
        if not isinstance(size, Dim):
            return OutputSlot("constant", size)
        index = self._recorder.builder.index_of_size()
        return self._add(index, {keys.SIZE: ir.StringAttr.get(str(size))})

    def add_writes(self) -> None:
        """Adds the new content of each argument that was written."""
        for entry in self._recorder.arguments:
            if self._recorder.tracked(entry.tensor) is not entry:
                unsupported(
                    kind="input with a new shape",
                    context=str(tuple(entry.tensor.shape)),
                    explanation="An in-place view changed the shape of an input.",
                )
            if entry.storage.version:
                self._add_write(entry.tensor, entry.storage)

    def _add_write(self, tensor: torch.Tensor, storage: Storage) -> None:
        check_device(tensor, self._recorder.builder.device)
        self.written.append(storage.argument)
        value = storage.value.value
        i64 = ir.IntegerType.get_signless(64)
        attributes = {keys.WRITES: ir.IntegerAttr.get(i64, storage.argument)}
        if self._keeps_history(tensor, storage):
            attributes[keys.DETACHED] = ir.UnitAttr.get()
        self._add(value, attributes)

    def add_checks(self) -> bool:
        """Adds what nobody uses, and what eager may raise for; whether there is any."""
        found = list(unused_checks(self._recorder.builder.block, self.values))
        for value in found:
            element = value.type.element_type
            has_derivative = ty.is_float(element) or ty.is_complex(element)
            asks = self._recorder.derivatives is not None and has_derivative
            self._add(value, {keys.DETACHED: ir.UnitAttr.get()} if asks else {})
        return len(found) > 0

    def _keeps_history(self, tensor: torch.Tensor, storage: Storage) -> bool:
        """Whether an argument has the history that it had, after all writes."""
        derivatives = self._recorder.derivatives
        if derivatives is None:
            return False
        argument = self._recorder.builder.block.arguments[storage.argument]
        if derivatives.is_active(argument):
            return origin_of(storage.value.value) == argument
        return not derivatives.requires_gradient(tensor, storage.value)


def _is_alike(plain: torch.Tensor, lazy: torch.Tensor) -> bool:
    """Whether a tensor without bits shows the same memory in the same way."""
    return (
        bits_of(plain) == NONE
        and plain.dtype == lazy.dtype
        and plain.size() == lazy.size()
        and plain.stride() == lazy.stride()
        and plain.storage_offset() == lazy.storage_offset()
    )


def _owner_of(entry: Tracked) -> Tracked:
    """The tensor that a view is one of, to autograd, with all of its memory.

    A product of more than two dims is one of two in another shape, but no view.
    """
    base = entry.base
    while entry is not base:
        is_whole = entry.tensor.numel() == base.shown.numel()
        if is_whole and not entry.tensor._is_view() and not entry.is_cut():
            return entry
        entry = entry.parent
    return base


def _expect_whole(owner: Tracked) -> None:
    """Whether a tensor that was made a view of itself still shows all of its memory."""
    if owner.tensor.numel() != owner.shown.numel():
        unsupported(
            kind="views of a tensor that became a part of itself",
            context=str(tuple(owner.tensor.shape)),
            explanation="No result shows all of the memory that the results share.",
            hints=("Call as_strided instead of as_strided_.",),
        )


def _expect_usable(view: Tracked) -> None:
    """Of several views; whether eager raises wherever it is used, as its base changed.

    The one that is made again at run time would know nothing of that write.
    """
    if view.is_older_than_a_write:
        tensor = view.tensor
        unsupported(
            kind="result that is one of several views, whose base was written",
            context=f"{tuple(tensor.shape)} {tensor.dtype}",
            explanation=(
                "Eager raises an error when a backward pass needs the history of "
                "the view."
            ),
            hints=("Write to the base before the views are made.",),
        )


def _size(size: Size) -> ir.Attribute:
    if isinstance(size, Dim):
        return ir.StringAttr.get(str(size))
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), size)


def _sizes(sizes: tuple[Size, ...]) -> ir.Attribute:
    return ir.ArrayAttr.get([_size(size) for size in sizes])


def _expect_same_dtype(one: torch.Tensor, other: torch.Tensor) -> None:
    if one.dtype != other.dtype:
        dtypes = sorted((str(one.dtype), str(other.dtype)))
        unsupported(
            kind="results of two dtypes that share memory",
            context=" and ".join(dtypes),
            explanation=(
                "In eager a view of another dtype shares the memory of its base. In "
                "girih a view keeps the dtype."
            ),
            hints=("Clone one of the results.",),
        )
