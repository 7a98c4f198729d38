"""Writes the ops of a region, among them the shape ops of chains."""

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.attributes import encode_size
from girih.dialects.bindings import ir
from girih.dialects.definition import full_name
from girih.dialects.dims import Size, product
from girih.passes.fuse.chain import (
    Broadcast,
    Chain,
    Flip,
    Gather,
    Pad,
    Permute,
    Reshape,
    Slice,
    Step,
    Take,
    Windows,
)
from girih.passes.fuse.program import Read
from girih.passes.fuse.shapes import Shape


@dataclass(frozen=True, slots=True)
class Emitted:
    """A value in the region.

    Attributes:
        value: the value.
        shape: its shape, which broadcasts to the end of the chain that was asked for.
        is_chain: whether shape ops may apply to it.
    """

    value: ir.Value
    shape: Shape
    is_chain: bool = False


class OpWriter:
    """Creates ops at the end of ``block``.

    ``index_of`` builds the index operand of a take or gather.
    """

    def __init__(self, block: ir.Block, index_of: Callable[[Read], Emitted]):
        self._ip = ir.InsertionPoint(block)
        self._index_of = index_of
        self._types: dict[tuple[Shape, ir.Type], ir.Type] = {}

    def make(
        self,
        name: str,
        operands: list[Emitted],
        shape: Shape,
        element: ir.Type,
        attributes: dict[str, ir.Attribute],
        loc: ir.Location,
    ) -> Emitted:
        """Makes ``graph.name`` with a result of this shape and element type."""
        type_ = self._types.get((shape, element))
        if type_ is None:
            type_ = self._types[shape, element] = ty.tensor_type(shape, element)
        op = ir.Operation.create(
            full_name(name),
            results=[type_],
            operands=[operand.value for operand in operands],
            attributes=attributes,
            loc=loc,
            ip=self._ip,
        )
        return Emitted(op.results[0], shape)

    def number(self, value: Size, loc: ir.Location) -> Emitted:
        """Makes the rank-0 ``i64`` tensor ``value``."""
        if isinstance(value, int):
            return self.make("constant", [], (), ty.i64(), {"value": i64(value)}, loc)
        return self.make("size", [], (), ty.i64(), {"expr": encode_size(value)}, loc)

    def counter(self, size: Size, loc: ir.Location) -> Emitted:
        """Makes the tensor ``0, 1, ..., size - 1``."""
        attributes = {"start": i64(0), "step": i64(1)}
        made = self.make("iota", [], (size,), ty.i64(), attributes, loc)
        return Emitted(made.value, made.shape, is_chain=True)

    def apply(self, start: Emitted, chain: Chain, loc: ir.Location) -> Emitted:
        """Applies the steps of ``chain``."""
        for step in chain:
            start = self._apply_step(start, step, loc)
        return start

    def _apply_step(self, start: Emitted, step: Step, loc: ir.Location) -> Emitted:
        name, attributes = _SHAPE_OPS[type(step)](step)
        operands = [start]
        if isinstance(step, Take | Gather):
            operands.append(self._index_of(step.index))
        element = start.value.type.element_type
        if isinstance(step, Pad):
            attributes["value"] = step.value or _zero(element)
        made = self.make(name, operands, step.shape, element, attributes, loc)
        return Emitted(made.value, made.shape, is_chain=True)

    def widen(self, emitted: Emitted, shape: Shape, loc: ir.Location) -> Emitted:
        """Returns the value with all elements of ``shape``."""
        if emitted.shape == shape:
            return emitted
        if emitted.is_chain:
            same_size = product(emitted.shape) == product(shape)
            step = Reshape(shape) if same_size else Broadcast(shape)
            return self.apply(emitted, (step,), loc)
        element = emitted.value.type.element_type
        owner = emitted.value.owner
        if owner.name == "graph.constant":
            attributes = {"value": owner.attributes["value"]}
            return self.make("full", [], shape, element, attributes, loc)
        # No shape op may stand on a computed value; choosing between the value and
        # itself at each point of the domain is elementwise, and free in a kernel.
        true = {"value": ir.BoolAttr.get(True)}
        everywhere = self.make("full", [], shape, ty.i1(), true, loc)
        operands = [everywhere, emitted, emitted]
        return self.make("where", operands, shape, element, {}, loc)


def i64(value: int) -> ir.Attribute:
    """Returns the attribute of an integer."""
    return ir.IntegerAttr.get(ty.i64(), value)


def _zero(element: ir.Type) -> ir.Attribute:
    """Returns a value for padding that nothing reads."""
    return ir.BoolAttr.get(False) if ty.is_bool(element) else i64(0)


def _ints(values) -> ir.Attribute:
    return ir.DenseI64ArrayAttr.get(list(values))


def _sizes(values) -> ir.Attribute:
    return ir.ArrayAttr.get([encode_size(value) for value in values])


# How each step is written: the op's name and attributes.
_SHAPE_OPS: dict[type[Step], Callable[[Step], tuple[str, dict]]] = {
    Broadcast: lambda step: ("broadcast_to", {}),
    Flip: lambda step: ("flip", {"dims": _ints(step.dims)}),
    Gather: lambda step: ("gather", {"dim": i64(step.dim)}),
    Pad: lambda step: ("pad", {"low": _sizes(step.low), "high": _sizes(step.high)}),
    Permute: lambda step: ("permute", {"permutation": _ints(step.permutation)}),
    Reshape: lambda step: ("reshape", {}),
    Slice: lambda step: (
        "slice",
        {"starts": _sizes(step.starts), "steps": _ints(step.steps)},
    ),
    Take: lambda step: (
        "take",
        {"dim": i64(step.dim)}
        | ({"from_end": ir.UnitAttr.get()} if step.from_end else {}),
    ),
    Windows: lambda step: (
        "window",
        {"dim": i64(step.dim), "step": encode_size(step.step)},
    ),
}
