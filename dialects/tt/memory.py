"""Arithmetic on pointers, loads, stores, atomic updates.

Enumerations are numbers: ``cache`` 1 none, 2 all levels, 3 the second level only;
``evict`` 1 normal, 2 first, 3 last; ``atomic_rmw_op`` 4 add, 5 add of floats;
``sem`` 1 relaxed, 2 acquire, 3 release, 4 both; ``scope`` 1 device, 2 block, 3 system.
Source: TritonAttrDefs.td of Triton 3.6.
"""

from girih.dialects import types as ty
from girih.dialects.attributes import BOOL
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects
from girih.dialects.fields import attribute, operand, optional_operand, result
from girih.dialects.rules import expect
from girih.dialects.tt.base import (
    INT32,
    INTS32,
    TtOp,
    element_of,
    expect_pointer,
    expect_type,
    same_shape,
    shape_of,
)

_NUMBERS = (ir.IntegerType, ir.FloatType)


def _expect_mask(mask: ir.Value | None, pointer: ir.Type) -> None:
    if mask is not None:
        expect_type(mask.type, "mask", same_shape(pointer, ty.i1()))


class AddptrOp(TtOp, name="addptr"):
    """The pointers moved by so many elements."""

    pointer = operand()
    offset = operand()
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """The pointers' type; offsets are integers of the same sizes."""
        pointer, offset = types
        expect_pointer(pointer, "pointer")
        fits = ty.is_integer(element_of(offset)) and shape_of(offset) == shape_of(
            pointer
        )
        expect(fits, "offset", f"be integers of the sizes of {pointer}", offset)
        return [pointer]


class BitcastOp(TtOp, name="bitcast"):
    """The same bits as another type: pointers to other elements, or other numbers.

    Errors: numbers of another width; a pointer and a number.
    """

    source = operand()
    value = result()

    def verify_invariants(self) -> None:
        """Checks that both are pointers, or numbers of one width."""
        source, value = element_of(self.source.type), element_of(self.value.type)
        if isinstance(source, _NUMBERS):
            is_as_wide = isinstance(value, _NUMBERS) and value.width == source.width
            rule = f"have elements of {source.width} bits"
            expect(is_as_wide, "value", rule, self.value.type)
            expect_type(self.value.type, "value", same_shape(self.source.type, value))
            return
        expect_pointer(self.source.type, "source")
        expect_pointer(self.value.type, "value")


class LoadOp(TtOp, name="load"):
    """The elements at the pointers; ``other`` (default: anything) where masked off."""

    EFFECTS = Effects.READS

    pointer = operand()
    mask = optional_operand()
    other = optional_operand()
    cache = attribute(INT32, default=1)
    evict = attribute(INT32, default=1)
    isVolatile = attribute(BOOL, default=False)  # noqa: N815  (Triton's name)
    boundaryCheck = attribute(INTS32, default=())  # noqa: N815  (Triton's name)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """One element for each pointer."""
        pointer, _, other = types
        value = expect_pointer(pointer, "pointer")
        if other is not None:
            expect_type(other, "other", value)
        return [value]

    def verify_invariants(self) -> None:
        """Checks the mask."""
        _expect_mask(self.mask, self.pointer.type)


class StoreOp(TtOp, name="store"):
    """Writes the elements at the pointers where they are not masked off."""

    EFFECTS = Effects.WRITES

    pointer = operand()
    value = operand()
    mask = optional_operand()
    cache = attribute(INT32, default=1)
    evict = attribute(INT32, default=1)
    boundaryCheck = attribute(INTS32, default=())  # noqa: N815  (Triton's name)

    def verify_invariants(self) -> None:
        """Checks value and mask."""
        wanted = expect_pointer(self.pointer.type, "pointer")
        expect_type(self.value.type, "value", wanted)
        _expect_mask(self.mask, self.pointer.type)


class AtomicRmwOp(TtOp, name="atomic_rmw"):
    """Updates the elements at the pointers atomically; returns what they were."""

    EFFECTS = Effects.ORDERED

    pointer = operand()
    operand_value = operand()
    mask = optional_operand()
    atomic_rmw_op = attribute(INT32)
    sem = attribute(INT32, default=1)
    scope = attribute(INT32, default=1)
    value = result()

    @staticmethod
    def infer_types(types: list, attributes: dict) -> list[ir.Type]:
        """One element for each pointer."""
        wanted = expect_pointer(types[0], "pointer")
        expect_type(types[1], "value", wanted)
        return [wanted]

    def verify_invariants(self) -> None:
        """Checks the mask."""
        _expect_mask(self.mask, self.pointer.type)
