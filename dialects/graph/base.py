"""What the op families of ``graph`` share: the base class and the shape rules."""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import Effects, Op
from girih.dialects.dims import Dim, Size
from girih.dialects.rules import InvalidOp, expect
from girih.dialects.traits import Role


class GraphOp(Op):
    """The base of ops on tensor values; those that say nothing else are primitives."""

    DIALECT = "graph"
    ROLE = Role.PRIMITIVE


class LibraryOp(GraphOp):
    """The base of ops that run as the ATen op that they name, never in a kernel."""

    ROLE = Role.LIBRARY

    @classmethod
    def check_result(cls, index: int, inferred: ir.Type, actual: ir.Type) -> None:
        """Accepts another expression for the same symbolic size, as torch writes it."""
        name = cls.RESULTS[index].name
        same_element = ty.element_of(inferred) == ty.element_of(actual)
        shapes = ty.shape_of(inferred), ty.shape_of(actual)
        agree = len(shapes[0]) == len(shapes[1]) and all(
            a == b or isinstance(a, Dim) or isinstance(b, Dim)
            for a, b in zip(*shapes, strict=True)
        )
        expect(same_element and agree, name, f"have type {inferred}", actual)


class CompositeOp(GraphOp):
    """The base of ops that are written with primitives before kernels are made."""

    ROLE = Role.COMPOSITE


class DerivativeOp(GraphOp):
    """The base of ops that only say something about derivatives."""

    ROLE = Role.DERIVATIVE


class OrderedOp(LibraryOp):
    """The base of library ops with effects, such as drawing random numbers."""

    EFFECTS = Effects.ORDERED


def shape_text(shape: Sequence[Size]) -> str:
    """Returns a shape as it is shown in messages."""
    return f"[{', '.join(map(str, shape))}]"


def expect_tensor(type_: ir.Type, name: str) -> tuple[Size, ...]:
    """Returns the shape of an operand that must be a ranked tensor."""
    is_tensor = isinstance(type_, ir.RankedTensorType)
    expect(is_tensor, name, "be a ranked tensor", type_)
    return ty.shape_of(type_)


def expect_rank(type_: ir.Type, name: str, rank: int) -> tuple[Size, ...]:
    """Returns the shape of an operand that must be a tensor of this rank."""
    shape = expect_tensor(type_, name)
    expect(len(shape) == rank, name, f"have rank {rank}", type_)
    return shape


def expect_float(type_: ir.Type, name: str) -> None:
    """Checks that an operand's elements are real floating-point numbers."""
    is_float = ty.is_float(element_of(type_, name))
    expect(is_float, name, "have a float element type", type_)


def expect_index(type_: ir.Type, name: str) -> None:
    """Checks that an operand's elements can be indices."""
    element = element_of(type_, name)
    expect(str(element) in ("i32", "i64"), name, "have element type i32 or i64", type_)


def element_of(type_: ir.Type, name: str) -> ir.Type:
    """Returns the element type of an operand that must be a ranked tensor."""
    is_tensor = isinstance(type_, ir.RankedTensorType)
    expect(is_tensor, name, "be a ranked tensor", type_)
    return type_.element_type


def expect_same_element(type_: ir.Type, name: str, element: ir.Type) -> None:
    """Checks an operand's element type."""
    actual = element_of(type_, name)
    if actual != element:
        raise InvalidOp(name, f"have element type {element}", actual)


def expect_dim(dim: int, rank: int, name: str = "dim") -> None:
    """Checks that an attribute names a dim of a tensor of this rank."""
    expect(0 <= dim < rank, name, f"be at least 0 and below the rank {rank}", dim)


def expect_dims(dims: Sequence[int], rank: int, name: str = "dims") -> None:
    """Checks that an attribute names different dims of a tensor of this rank."""
    for dim in dims:
        expect_dim(dim, rank, name)
    unique = len(set(dims)) == len(dims)
    expect(unique, name, "name each dim once", list(dims))


def broadcast_shapes(
    lhs: tuple[Size, ...], rhs: tuple[Size, ...], name: str
) -> tuple[Size, ...]:
    """Returns the shape that two shapes broadcast to, right-aligned."""
    if len(lhs) < len(rhs):
        lhs = (1,) * (len(rhs) - len(lhs)) + lhs
    padded = (1,) * (len(lhs) - len(rhs)) + rhs
    sizes = []
    for left, right in zip(lhs, padded, strict=True):
        if left != right and left != 1 and right != 1:
            raise InvalidOp(name, f"broadcast with {shape_text(lhs)}", shape_text(rhs))
        sizes.append(right if left == 1 else left)
    return tuple(sizes)


def broadcast(types: Sequence[ir.Type], names: Sequence[str]) -> tuple[Size, ...]:
    """Returns the shape that the operands' shapes broadcast to."""
    shape: tuple[Size, ...] = ()
    for type_, name in zip(types, names, strict=True):
        shape = broadcast_shapes(shape, expect_tensor(type_, name), name)
    return shape


def with_element(type_: ir.Type, element: ir.Type) -> ir.Type:
    """Returns the tensor type of the same shape with other elements."""
    return ty.tensor_type(ty.shape_of(type_), element)
