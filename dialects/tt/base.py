"""What the op families of ``tt`` share: pointers, shapes, attributes of 32 bits."""

from typing import Any

from girih.dialects.attributes import Kind
from girih.dialects.bindings import ir
from girih.dialects.definition import Op
from girih.dialects.rules import expect


class TtOp(Op):
    """The base of ops of Triton IR."""

    DIALECT = "tt"


# Attributes ---------------------------------------------------------------------


def _decode_int32(attribute: ir.Attribute) -> int:
    i32 = ir.IntegerType.get_signless(32)
    if not isinstance(attribute, ir.IntegerAttr) or attribute.type != i32:
        raise ValueError(attribute)
    return attribute.value


def _encode_int32(value: int) -> ir.Attribute:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value)


def _decode_ints32(attribute: ir.Attribute) -> tuple[int, ...]:
    if not isinstance(attribute, ir.DenseI32ArrayAttr):
        raise ValueError(attribute)
    return tuple(attribute)


def _encode_ints32(values: Any) -> ir.Attribute:
    return ir.DenseI32ArrayAttr.get(list(values))


# Numbers and enumerations of Triton are i32.
INT32 = Kind("be an i32", _encode_int32, _decode_int32)
INTS32 = Kind("be an array<i32>", _encode_ints32, _decode_ints32)


# Types --------------------------------------------------------------------------


def pointer_type(element: ir.Type) -> ir.Type:
    """Returns ``!tt.ptr<element>``."""
    return ir.OpaqueType.get("tt", f"ptr<{element}>", element.context)


def pointee(type_: ir.Type) -> ir.Type | None:
    """Returns what a pointer points to, None for another type."""
    if not isinstance(type_, ir.OpaqueType) or type_.dialect_namespace != "tt":
        return None
    if not type_.data.startswith("ptr<"):
        return None
    inner = type_.data.removeprefix("ptr<").removesuffix(">").partition(",")[0]
    return ir.Type.parse(inner, type_.context)


def shape_of(type_: ir.Type) -> tuple[int, ...]:
    """Returns the sizes of a tensor; none for a scalar."""
    return tuple(type_.shape) if isinstance(type_, ir.RankedTensorType) else ()


def element_of(type_: ir.Type) -> ir.Type:
    """Returns the element type of a tensor; a scalar type itself."""
    return type_.element_type if isinstance(type_, ir.RankedTensorType) else type_


def with_shape(shape: tuple[int, ...], element: ir.Type) -> ir.Type:
    """Returns a tensor type, or the element type where there are no sizes."""
    return ir.RankedTensorType.get(list(shape), element) if shape else element


def same_shape(type_: ir.Type, element: ir.Type) -> ir.Type:
    """Returns a scalar or tensor type with another element type."""
    return with_shape(shape_of(type_), element)


# Checks -------------------------------------------------------------------------


def expect_type(type_: ir.Type, name: str, wanted: ir.Type) -> None:
    """Checks that an operand has a type."""
    expect(type_ == wanted, name, f"have type {wanted}", type_)


def expect_tensor(type_: ir.Type, name: str) -> tuple[int, ...]:
    """Returns the sizes of an operand or result that must be a tensor."""
    sizes = shape_of(type_)
    expect(bool(sizes), name, "be a tensor", type_)
    return sizes


def expect_pointer(type_: ir.Type, name: str) -> ir.Type:
    """Returns the type of what an operand, a pointer or tensor of them, points to."""
    element = pointee(element_of(type_))
    expect(element is not None, name, "be a pointer or a tensor of them", type_)
    return same_shape(type_, element)


def expect_power_of_two(sizes: tuple[int, ...], name: str) -> None:
    """Checks sizes as Triton does: each is a power of two."""
    good = all(size > 0 and size & (size - 1) == 0 for size in sizes)
    expect(good, name, "have sizes that are powers of two", list(sizes))
