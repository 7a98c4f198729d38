"""Arithmetic, minimum and maximum, where.

Source: https://pytorch.org/docs/stable/torch.html#pointwise-ops; what the pages leave
open (NaN, signed zero) follows eager PyTorch.
"""

from collections.abc import Sequence

from girih.passes.tile.elements import BOOL, Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.rules import emits
from girih.passes.tile.nodes import ComputeNode


def _binary(float_op: str, integer_op: str, bool_op: str):
    def rule(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
        element = node.operands[0].element
        if element.is_float:
            return b.same(float_op, *values)
        return b.same(bool_op if element is BOOL else integer_op, *values)

    return rule


emits("add")(_binary("arith.addf", "arith.addi", "arith.ori"))
emits("sub")(_binary("arith.subf", "arith.subi", "arith.xori"))
emits("mul")(_binary("arith.mulf", "arith.muli", "arith.andi"))


@emits("neg")
def emit_neg(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``-x``; integers wrap."""
    if node.element.is_float:
        return b.same("arith.negf", values[0])
    zero = b.constant(0, node.element.register_name)
    return b.same("arith.subi", zero, values[0])


@emits("abs")
def emit_abs(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``|x|``; the smallest integer stays as it is."""
    if node.element.is_float:
        return b.same("math.absf", values[0])
    if node.element.kind != "signed":
        return values[0]
    return b.same("math.absi", values[0])


@emits("sign")
def emit_sign(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """-1, 0 or 1; 0 for NaN, as eager gives."""
    element, (x,) = node.element, values
    if element is BOOL:
        return x
    name = element.register_name
    zero, one = b.constant(0, name), b.constant(1, name)
    positive = b.select(b.compare("gt", x, zero, element), one, zero)
    if element.kind == "unsigned":
        return positive
    negative = b.compare("lt", x, zero, element)
    return b.select(negative, b.constant(-1, name), positive)


@emits("reciprocal")
def emit_reciprocal(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``1 / x``."""
    one = b.constant(1.0, node.element.register_name)
    return b.same("arith.divf", one, values[0])


@emits("relu")
def emit_relu(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``max(x, 0)``; NaN stays."""
    element, (x,) = node.element, values
    if element.kind in ("unsigned", "bool"):
        return x
    zero = b.constant(0, element.register_name)
    if not element.is_float:
        return b.same("arith.maxsi", x, zero)
    # Written so that NaN compares false and is taken from x: one vmaxps.
    return b.select(b.compare_floats("ogt", zero, x), zero, x)


@emits("maximum")
def emit_maximum(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """The larger value; NaN where either is NaN."""
    return extremum(b, node.element, "gt", *values)


@emits("minimum")
def emit_minimum(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """The smaller value; NaN where either is NaN."""
    return extremum(b, node.element, "lt", *values)


def extremum(
    b: Builder, element: Element, predicate: str, lhs: Value, rhs: Value
) -> Value:
    """``lhs`` where ``lhs predicate rhs``, else ``rhs``; NaN where either is NaN."""
    if element is BOOL:
        return b.same("arith.ori" if predicate == "gt" else "arith.andi", lhs, rhs)
    if not element.is_float:
        sign = "s" if element.kind == "signed" else "u"
        name = "max" if predicate == "gt" else "min"
        return b.same(f"arith.{name}{sign}i", lhs, rhs)
    if b.has_maximum:
        name = "maximumf" if predicate == "gt" else "minimumf"
        return b.same(f"arith.{name}", lhs, rhs)
    # One vmaxps or vminps, which gives rhs when either is NaN, and one blend:
    # arith.maximumf orders signed zeros too and takes twice as many instructions.
    chosen = b.select(b.compare_floats(f"o{predicate}", lhs, rhs), lhs, rhs)
    return b.select(b.compare_floats("uno", lhs, lhs), lhs, chosen)


@emits("where")
def emit_where(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """The second operand where the first is true, else the third."""
    return b.select(*values)


@emits("copysign")
def emit_copysign(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """The magnitude of the first, the sign of the second."""
    return b.same("math.copysign", *values)
