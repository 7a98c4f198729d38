"""Comparisons, logic, bits and shifts.

Source: https://pytorch.org/docs/stable/torch.html#comparison-ops.
"""

from collections.abc import Sequence

from girih.passes.tile.elements import BOOL, Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.rules import emits
from girih.passes.tile.nodes import ComputeNode


def _comparison(predicate: str):
    def rule(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
        return b.compare(predicate, *values, node.operands[0].element)

    return rule


for _predicate in ("eq", "ne", "lt", "le", "gt", "ge"):
    emits(_predicate)(_comparison(_predicate))


def truth(b: Builder, element: Element, value: Value) -> Value:
    """``value != 0`` as i1; NaN is true."""
    if element is BOOL:
        return value
    return b.compare("ne", value, b.constant(0, element.register_name), element)


def _logical(name: str):
    def rule(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
        element = node.operands[0].element
        return b.same(name, *(truth(b, element, value) for value in values))

    return rule


emits("logical_and")(_logical("arith.andi"))
emits("logical_or")(_logical("arith.ori"))
emits("logical_xor")(_logical("arith.xori"))


@emits("logical_not")
def emit_logical_not(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x == 0``."""
    return b.logical_not(truth(b, node.operands[0].element, values[0]))


def _bitwise(name: str):
    def rule(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
        return b.same(name, *values)

    return rule


emits("bitwise_and")(_bitwise("arith.andi"))
emits("bitwise_or")(_bitwise("arith.ori"))
emits("bitwise_xor")(_bitwise("arith.xori"))


@emits("bitwise_not")
def emit_bitwise_not(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """All bits flipped; of a bool, its negation."""
    ones = b.constant(-1, node.element.register_name)
    return b.same("arith.xori", values[0], ones)


@emits("shift_left")
def emit_shift_left(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x * 2**y``; 0 where the amount is negative or no less than the width."""
    element, (x, amount) = node.element, values
    fits = _amount_fits(b, element, amount, element.bits)
    zero = b.constant(0, element.register_name)
    shifted = b.same("arith.shli", x, b.select(fits, amount, zero))
    return b.select(fits, shifted, zero)


@emits("shift_right")
def emit_shift_right(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x / 2**y`` rounded down; an amount out of range shifts as far as it goes."""
    element, (x, amount) = node.element, values
    if element.kind == "unsigned":
        fits = _amount_fits(b, element, amount, element.bits)
        zero = b.constant(0, element.register_name)
        shifted = b.same("arith.shrui", x, b.select(fits, amount, zero))
        return b.select(fits, shifted, zero)
    last = b.constant(element.bits - 1, element.register_name)
    fits = _amount_fits(b, element, amount, element.bits - 1)
    return b.same("arith.shrsi", x, b.select(fits, amount, last))


def _amount_fits(b: Builder, element: Element, amount: Value, limit: int) -> Value:
    # Unsigned, a negative amount is a large one.
    bound = b.constant(limit, element.register_name)
    return b.compare_ints("ult", amount, bound)


@emits("isnan")
def emit_isnan(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """True for NaN; never for integers."""
    if not node.operands[0].element.is_float:
        return b.constant(False, "i1")
    return b.compare_floats("uno", values[0], values[0])


@emits("isinf")
def emit_isinf(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """True for both infinities; never for integers."""
    return _against_infinity(b, node, values[0], "oeq", False)


@emits("isfinite")
def emit_isfinite(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """False for NaN and the infinities; always true for integers."""
    return _against_infinity(b, node, values[0], "one", True)


def _against_infinity(
    b: Builder, node: ComputeNode, x: Value, predicate: str, of_integers: bool
) -> Value:
    element = node.operands[0].element
    if not element.is_float:
        return b.constant(of_integers, "i1")
    infinity = b.constant(float("inf"), element.register_name)
    return b.compare_floats(predicate, b.same("math.absf", x), infinity)
