"""Short names for the upstream ops that this folder makes.

Ops are made with `Operation.create` at the current insertion point and location: it
costs a fifth of the typed constructors, and a kernel has hundreds of ops.
"""

from __future__ import annotations

import array
from collections.abc import Sequence

from girih.dialects.bindings import ir, llvm

Value = ir.Value


def make(
    name: str,
    results: Sequence[ir.Type],
    operands: Sequence[Value],
    attributes: dict[str, ir.Attribute] | None = None,
    regions: int = 0,
) -> ir.Operation:
    """Any op, here."""
    return ir.Operation.create(
        name,
        results=results,
        operands=operands,
        attributes=attributes,
        regions=regions,
    )


def value(
    name: str,
    type: ir.Type,
    operands: Sequence[Value],
    attributes: dict[str, ir.Attribute] | None = None,
) -> Value:
    """The result of an op that has one."""
    return make(name, [type], operands, attributes).results[0]


def same(name: str, *operands: Value) -> Value:
    """The result of an op whose type is that of its first operand."""
    return value(name, operands[0].type, operands)


def call(
    name: str, results: Sequence[ir.Type], operands: Sequence[Value]
) -> ir.Operation:
    """A call of a function of the module."""
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    return make("llvm.call", results, operands, attributes)


def call_address(address: Value, operands: Sequence[Value]) -> ir.Operation:
    """A call of a function whose address was loaded; it returns nothing."""
    attributes = {
        "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1 + len(operands), 0]),
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    return make("llvm.call", [], [address, *operands], attributes)


# Types and attributes -----------------------------------------------------------------


def integer(bits: int) -> ir.Type:
    """A signless integer type."""
    return ir.IntegerType.get_signless(bits)


def index_type() -> ir.Type:
    """The type of sizes and offsets."""
    return ir.IndexType.get()


def pointer() -> ir.Type:
    """The type of addresses."""
    return llvm.PointerType.get()


def vector_of(lanes: int, element: ir.Type) -> ir.Type:
    """A vector with one dimension."""
    return ir.VectorType.get([lanes], element)


def number(count: int, bits: int = 64) -> ir.IntegerAttr:
    """An integer attribute."""
    return ir.IntegerAttr.get(integer(bits), count)


def element_of(type: ir.Type) -> ir.Type:
    """The element type of a vector, or the scalar type itself."""
    return type.element_type if isinstance(type, ir.VectorType) else type


def is_bool(type: ir.Type) -> bool:
    """Whether values are single bits, which occupy bytes in memory."""
    element = element_of(type)
    return isinstance(element, ir.IntegerType) and element.width == 1


def with_element(type: ir.Type, element: ir.Type) -> ir.Type:
    """The type with another element type."""
    if isinstance(type, ir.VectorType):
        return ir.VectorType.get(type.shape, element)
    return element


# Constants ----------------------------------------------------------------------------


def index(number: int) -> Value:
    """A constant of index type."""
    attribute = ir.IntegerAttr.get(index_type(), number)
    return value("arith.constant", index_type(), [], {"value": attribute})


def splat(type: ir.Type, number: int) -> Value:
    """An integer constant, in each lane of a vector type."""
    attribute = ir.IntegerAttr.get(element_of(type), number)
    if isinstance(type, ir.VectorType):
        attribute = ir.DenseElementsAttr.get_splat(type, attribute)
    return value("arith.constant", type, [], {"value": attribute})


def lane_numbers(lanes: int) -> Value:
    """[0, 1, ..., lanes - 1] as i32."""
    type = vector_of(lanes, integer(32))
    numbers = ir.DenseElementsAttr.get(array.array("i", range(lanes)), type=type)
    return value("arith.constant", type, [], {"value": numbers})


# Arithmetic ---------------------------------------------------------------------------


def add(lhs: Value, rhs: Value) -> Value:
    """Sum of integers."""
    return same("arith.addi", lhs, rhs)


def sub(lhs: Value, rhs: Value) -> Value:
    """Difference of integers."""
    return same("arith.subi", lhs, rhs)


def mul(lhs: Value, rhs: Value) -> Value:
    """Product of integers."""
    return same("arith.muli", lhs, rhs)


_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sle": 3, "sgt": 4, "sge": 5}


def compare(predicate: str, lhs: Value, rhs: Value) -> Value:
    """Comparison of integers."""
    type = with_element(lhs.type, integer(1))
    return value(
        "arith.cmpi", type, [lhs, rhs], {"predicate": number(_PREDICATES[predicate])}
    )


def broadcast(scalar: Value, lanes: int) -> Value:
    """A scalar in each lane."""
    return value("vector.broadcast", vector_of(lanes, scalar.type), [scalar])


def to_i64(operand: Value) -> Value:
    """An index, or a vector of them, as i64."""
    type = with_element(operand.type, integer(64))
    return operand if operand.type == type else _cast(operand, type)


def to_index(operand: Value) -> Value:
    """An i64 as index."""
    return _cast(operand, with_element(operand.type, index_type()))


def _cast(operand: Value, type: ir.Type) -> Value:
    return value("arith.index_cast", type, [operand])


def any_lane(mask: Value) -> Value:
    """Whether a lane of the mask is set; a scalar is its own answer."""
    if not isinstance(mask.type, ir.VectorType):
        return mask
    kind = ir.Attribute.parse("#vector.kind<or>")
    return value("vector.reduction", integer(1), [mask], {"kind": kind})


def lane(vector: Value, position: int) -> Value:
    """One lane of a vector, or one row of a vector of rank 2."""
    type = vector.type
    rest = type.shape[1:]
    result = ir.VectorType.get(rest, type.element_type) if rest else type.element_type
    return value("vector.extract", result, [vector], _position(position))


def with_lane(vector: Value, item: Value, position: int) -> Value:
    """The vector with one lane, or row, replaced."""
    return value("vector.insert", vector.type, [item, vector], _position(position))


def _position(position: int) -> dict[str, ir.Attribute]:
    return {"static_position": ir.DenseI64ArrayAttr.get([position])}


def poison(type: ir.Type) -> Value:
    """A value whose every lane will be replaced."""
    return value("ub.poison", type, [])


# Structure ----------------------------------------------------------------------------


def yield_(operands: Sequence[Value] = ()) -> None:
    """Ends a block of an scf op."""
    make("scf.yield", [], list(operands))


def if_(condition: Value, types: Sequence[ir.Type] = ()) -> tuple[ir.Operation, list]:
    """An `scf.if` with an empty block for each of its branches."""
    operation = make("scf.if", types, [condition], regions=2)
    branches = 2 if types else 1
    blocks = [region.blocks.append() for region in list(operation.regions)[:branches]]
    return operation, blocks
