"""What the op families of ``tile`` share."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import Op
from girih.dialects.rules import expect


class TileOp(Op):
    """The base of ops of kernels."""

    DIALECT = "tile"


def expect_buffer(type_: ir.Type, name: str) -> ty.BufferParts:
    """Returns the parts of an operand's or result's type, which must be a buffer."""
    expect(ty.is_buffer(type_), name, "be a buffer", type_)
    return ty.buffer_parts(type_)


def expect_index(type_: ir.Type, name: str) -> None:
    """Checks that an operand is of type ``index``."""
    expect(isinstance(type_, ir.IndexType), name, "have type index", type_)


def element_and_shape(type_: ir.Type) -> tuple[ir.Type, tuple[int, ...]]:
    """Returns the element type and sizes of a scalar (no sizes) or vector type."""
    if isinstance(type_, ir.VectorType):
        return type_.element_type, tuple(type_.shape)
    return type_, ()


def value_element(element: ir.Type) -> ir.Type:
    """Returns what an element of a buffer is once loaded.

    Integers are signless, and a float8 is an integer that holds its bits.
    """
    if isinstance(element, ir.IntegerType) or ty.is_float8(element):
        return ir.IntegerType.get_signless(element.width)
    return element


def expect_mask(type_: ir.Type, name: str, shape: tuple[int, ...]) -> None:
    """Checks that an operand is a mask of this shape (``i1`` for none)."""
    wanted = ty.vector_type(shape, ty.i1()) if shape else ty.i1()
    expect(type_ == wanted, name, f"have type {wanted}", type_)
