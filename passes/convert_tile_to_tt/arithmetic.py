"""Ops of `arith` that are not the same on tensors: constants, casts, divisions."""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers


@lowers("arith.constant")
def lower_constant(lowering: Lowering, op: ir.OpView) -> None:
    """A number, one for all lanes, or the numbers of the lanes."""
    attribute, type = op.attributes["value"], lowering.type(op.results[0].type)
    if not isinstance(attribute, ir.DenseElementsAttr):
        is_float = isinstance(attribute, ir.FloatAttr)
        kind = ir.FloatAttr if is_float else ir.IntegerAttr
        attribute = attribute if is_float else kind.get(type, _number(attribute))
    elif attribute.is_splat:
        item = attribute.get_splat_value()
        if not isinstance(item, ir.FloatAttr):
            item = ir.IntegerAttr.get(element_of(type), _number(item))
        attribute = ir.DenseElementsAttr.get_splat(type, item)
    else:
        if list(attribute) != list(range(len(attribute))):
            raise ValueError(f"expected equal lanes or their numbers, got {attribute}")
        lowering.set(op, b.resized(b.lanes(len(attribute)), element_of(type)))
        return
    lowering.set(op, b.value("arith.constant", type, [], {"value": attribute}))


def _number(attribute: ir.Attribute) -> int:
    return int(attribute.value)


@lowers("arith.index_cast", "arith.index_castui")
def lower_index_cast(lowering: Lowering, op: ir.OpView) -> None:
    """Indices are integers already: at most their width changes."""
    element = element_of(lowering.type(op.results[0].type))
    signed = op.operation.name == "arith.index_cast"
    source = lowering.new(op.operands[0])
    lowering.set(op, b.resized(source, element, signed=signed))


@lowers("arith.divf")
def lower_divf(lowering: Lowering, op: ir.OpView) -> None:
    """Rounded to nearest, as eager's; Triton's own is approximate in float32.

    That one (2 units in the last place, for all numbers) is taken where `fastmath` has
    `arcp`.
    """
    lhs, rhs = lowering.all(op.operands)
    is_rough = lowering.library == "cuda" and b.has_fastmath(op, "arcp")
    if element_of(lhs.type) == ir.F32Type.get() and not is_rough:
        result = b.make("precise_divf", [lhs, rhs])
    else:
        result = b.same("arith.divf", lhs, rhs)
    lowering.set(op, result)


@lowers("arith.negf")
def lower_negf(lowering: Lowering, op: ir.OpView) -> None:
    """-0.0 - x, which negates zeros too; Triton has no negation."""
    operand = lowering.new(op.operands[0])
    zero = b.constant(operand.type, -0.0)
    lowering.set(op, b.same("arith.subf", zero, operand))
