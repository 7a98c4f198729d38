"""Short names for the ops that this folder makes."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import tt
from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of, same_shape, shape_of, with_shape

Value = ir.Value


def value(
    name: str,
    type: ir.Type,
    operands: Sequence[Value],
    attributes: dict[str, ir.Attribute] | None = None,
) -> Value:
    """The result of an upstream op that has one."""
    return ir.Operation.create(
        name, results=[type], operands=operands, attributes=attributes
    ).results[0]


def same(name: str, *operands: Value) -> Value:
    """The result of an upstream op whose type is that of its first operand."""
    return value(name, operands[0].type, operands)


def make(
    name: str,
    operands: Sequence[object],
    attributes: dict[str, object] | None = None,
    type: ir.Type | None = None,
) -> Value:
    """The result of an op of tt."""
    results = None if type is None else [type]
    return tt.build(name, operands, attributes, results=results).results[0]


def integer(bits: int) -> ir.Type:
    """A signless integer type."""
    return ir.IntegerType.get_signless(bits)


def constant(type: ir.Type, number: float) -> Value:
    """A number, in each lane of a tensor type."""
    element = element_of(type)
    kind = ir.FloatAttr if isinstance(element, ir.FloatType) else ir.IntegerAttr
    attribute = kind.get(element, number)
    if shape_of(type):
        attribute = ir.DenseElementsAttr.get_splat(type, attribute)
    return value("arith.constant", type, [], {"value": attribute})


def splat(scalar: Value, shape: Sequence[int]) -> Value:
    """The scalar in each lane of a shape; itself where there are no sizes."""
    if not shape:
        return scalar
    return make("splat", [scalar], type=with_shape(tuple(shape), scalar.type))


def broadcast(tensor: Value, shape: Sequence[int]) -> Value:
    """The tensor repeated along its dimensions of size 1."""
    if shape_of(tensor.type) == tuple(shape):
        return tensor
    type = with_shape(tuple(shape), element_of(tensor.type))
    return make("broadcast", [tensor], type=type)


def expand(tensor: Value, axis: int) -> Value:
    """The tensor with a dimension of size 1 more."""
    return make("expand_dims", [tensor], {"axis": axis})


def lanes(count: int) -> Value:
    """[0, 1, ..., count - 1] as i32."""
    return make("make_range", [], {"start": 0, "end": count})


def resized(operand: Value, element: ir.Type, *, signed: bool = True) -> Value:
    """Integers with another width."""
    old = element_of(operand.type)
    if old == element:
        return operand
    extension = "arith.extsi" if signed else "arith.extui"
    name = extension if old.width < element.width else "arith.trunci"
    return value(name, same_shape(operand.type, element), [operand])


def compare(predicate: int, lhs: Value, rhs: Value) -> Value:
    """`arith.cmpi`: 0 is equal, 1 unequal, 2 less."""
    return _compared("arith.cmpi", predicate, lhs, rhs)


def compare_floats(predicate: int, lhs: Value, rhs: Value) -> Value:
    """`arith.cmpf`: 1 is equal, 4 is less, 14 unordered."""
    return _compared("arith.cmpf", predicate, lhs, rhs)


def _compared(name: str, predicate: int, lhs: Value, rhs: Value) -> Value:
    number = ir.IntegerAttr.get(integer(64), predicate)
    type = same_shape(lhs.type, integer(1))
    return value(name, type, [lhs, rhs], {"predicate": number})


def has_fastmath(op: ir.OpView, flag: str) -> bool:
    """Whether the attribute `fastmath` of an op has a flag."""
    attributes = op.operation.attributes
    if "fastmath" not in attributes:
        return False
    text = str(attributes["fastmath"])
    return flag in text[text.index("<") + 1 : -1].split(",")


def device_function(instruction: str, operand: Value) -> Value:
    """What an instruction for float32 numbers of NVIDIA's GPUs makes of an operand."""
    return assembled(f"{instruction} $0, $1;", operand)


def assembled(text: str, operand: Value) -> Value:
    """What instructions for a float32 number $1 put into $0."""
    asm = {"asm_string": text, "constraints": "=f,f"}
    return make("elementwise_inline_asm", [[operand]], asm, operand.type)
