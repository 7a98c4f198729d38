"""Memory of scheduled kernels: accesses, prefetches, local buffers, checks.

Offsets and strides count elements and are of type ``index``. A value has 0 to 2
vector dims: lane (i, j) is at ``offset + i * strides[0] + j * strides[1]``. There is
no mask, or one for each vector dim (an ``i1`` for scalars); lanes whose masks are not
all true are not accessed. Unsigned integers are held signless; a bool is an ``i1``.
"""

from girih.dialects import types as ty
from girih.dialects.attributes import INT
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, Op
from girih.dialects.fields import (
    attribute,
    operand,
    optional_operand,
    result,
    variadic_operand,
)
from girih.dialects.rules import expect
from girih.dialects.tile.base import (
    TileOp,
    element_and_shape,
    expect_buffer,
    expect_index,
    expect_mask,
    value_element,
)


def _verify_access(op: Op, value: ir.Type) -> None:
    """Checks buffer, offset, strides and masks of a load or store of ``value``."""
    parts = expect_buffer(op.buffer.type, "buffer")
    expect_index(op.offset.type, "offset")
    element, shape = element_and_shape(value)
    wanted = value_element(parts.element_type)
    expect(element == wanted, "value", f"have element type {wanted}", value)
    expect(len(shape) <= 2, "value", "have at most 2 vector dims", value)
    strides, masks = op.strides, op.masks
    rule = f"number {len(shape)}, one for each vector dim"
    expect(len(strides) == len(shape), "strides", rule, len(strides))
    for stride in strides:
        expect_index(stride.type, "strides")
    allowed = (0, max(len(shape), 1))
    rule = f"number {allowed[0]} or {allowed[1]}"
    expect(len(masks) in allowed, "masks", rule, len(masks))
    for position, mask in enumerate(masks):
        expect_mask(mask.type, "masks", shape[position : position + 1])


class LoadOp(TileOp, name="load"):
    """value = the elements at the offsets; ``other`` (default 0) where masked off.

    ``other`` is a scalar of the value's element type. The result type is given when
    built.
    """

    EFFECTS = Effects.READS

    buffer = operand()
    offset = operand()
    strides = variadic_operand()
    masks = variadic_operand()
    other = optional_operand()
    value = result()

    def verify_invariants(self) -> None:
        """Checks operands against the value's type."""
        value = self.value.type
        _verify_access(self, value)
        _verify_other(self.other, value)


def _verify_other(other: ir.Value | None, value: ir.Type) -> None:
    if other is not None:
        element, _ = element_and_shape(value)
        expect(other.type == element, "other", f"have type {element}", other.type)


class StoreOp(TileOp, name="store"):
    """Writes the value's lanes at the offsets."""

    EFFECTS = Effects.WRITES

    value = operand()
    buffer = operand()
    offset = operand()
    strides = variadic_operand()
    masks = variadic_operand()

    def verify_invariants(self) -> None:
        """Checks operands against the value's type."""
        _verify_access(self, self.value.type)


class GatherOp(TileOp, name="gather"):
    """value[i] = the element at ``offsets[i]``; ``other`` (default 0) if masked off.

    offsets: vector<w x i64>; mask: vector<w x i1>; ``other``: a scalar.
    """

    EFFECTS = Effects.READS

    buffer = operand()
    offsets = operand()
    mask = optional_operand()
    other = optional_operand()
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: object) -> list[ir.Type]:
        """A vector of as many lanes as there are offsets."""
        buffer, offsets, mask, other = types
        parts = expect_buffer(buffer, "buffer")
        element, shape = element_and_shape(offsets)
        is_vector = len(shape) == 1 and element == ty.i64()
        expect(is_vector, "offsets", "have type vector<w x i64>", offsets)
        value = value_element(parts.element_type)
        if mask is not None:
            expect_mask(mask, "mask", shape)
        if other is not None:
            expect(other == value, "other", f"have type {value}", other)
        return [ty.vector_type(shape, value)]


class UpdateOp(TileOp, name="update"):
    """Adds the value's lanes to the elements at the offsets (GPUs only).

    Programs may add to one element at the same time. offsets: vector<... x i64> of the
    value's 1 or 2 dims; mask: ``i1`` of the same dims. Lanes that are masked off add
    nothing.
    """

    EFFECTS = Effects.WRITES

    value = operand()
    buffer = operand()
    offsets = operand()
    mask = optional_operand()

    def verify_invariants(self) -> None:
        """Checks operands against the value's type."""
        parts = expect_buffer(self.buffer.type, "buffer")
        element, shape = element_and_shape(self.value.type)
        wanted = value_element(parts.element_type)
        rule = f"be a vector of 1 or 2 dims of {wanted}"
        fits = element == wanted and len(shape) in (1, 2)
        expect(fits, "value", rule, self.value.type)
        places = ty.vector_type(shape, ty.i64())
        is_place = self.offsets.type == places
        expect(is_place, "offsets", f"have type {places}", self.offsets.type)
        if self.mask is not None:
            lanes = ty.vector_type(shape, ty.i1())
            mask = self.mask.type
            expect(mask == lanes, "mask", f"have type {lanes}", mask)


class PrefetchOp(TileOp, name="prefetch"):
    """Fetches a cache line into the second-level cache (CPUs only).

    ``offset`` counts bytes, and may lie outside of the buffer. No value changes.
    """

    EFFECTS = Effects.ORDERED

    buffer = operand()
    offset = operand()

    def verify_invariants(self) -> None:
        """Checks buffer and offset."""
        expect_buffer(self.buffer.type, "buffer")
        expect_index(self.offset.type, "offset")


class _LocalBuffer(TileOp):
    """A contiguous buffer of ``elements`` elements; its type is given when built."""

    EFFECTS = Effects.ORDERED

    elements = attribute(INT)
    buffer = result()

    def verify_invariants(self) -> None:
        """Checks the buffer's type."""
        parts = expect_buffer(self.buffer.type, "buffer")
        wanted = ty.buffer_type((self.elements,), (1,), parts.element_type)
        expect(
            self.buffer.type == wanted,
            "buffer",
            f"have type {wanted}",
            self.buffer.type,
        )


class WorkspaceOp(_LocalBuffer, name="workspace"):
    """Scratch memory that the grids of one kernel call share."""


class ScratchOp(_LocalBuffer, name="scratch"):
    """Scratch memory of one program, sized for the first or second cache."""


class CheckOp(TileOp, name="check"):
    """Sets the kernel's status to 1 if any lane of ``ok`` that is not masked is false.

    The runtime then runs eager, which raises its own error.
    """

    EFFECTS = Effects.ORDERED

    ok = operand()
    mask = optional_operand()

    def verify_invariants(self) -> None:
        """Checks that ``ok`` and the mask are bools of one shape."""
        element, shape = element_and_shape(self.ok.type)
        expect(ty.is_bool(element), "ok", "have element type i1", self.ok.type)
        if self.mask is not None:
            expect_mask(self.mask.type, "mask", shape)
