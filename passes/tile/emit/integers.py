"""Division in all its kinds, and powers of integers.

A division by the integer zero raises in eager: ``tile.check`` records it and the
division itself runs with another divisor, because hardware would trap. So does the
smallest integer divided by -1, which wraps here as it does in NumPy.

Source: aten/src/ATen/native/BinaryOps.h, c10/util/generic_math.h (what eager computes).
"""

from collections.abc import Sequence

from girih.passes.tile.elements import Element
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.precision import rounded
from girih.passes.tile.emit.rules import emits
from girih.passes.tile.nodes import ComputeNode, ConstantNode


@emits("div")
def emit_div(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x / y`` of floats (the importer casts integers first)."""
    if node.element.is_float:
        return b.same("arith.divf", *values)
    return emit_trunc_divide(b, node, values)


@emits("trunc_divide")
def emit_trunc_divide(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x / y`` rounded towards zero."""
    if node.element.is_float:
        # The quotient has 16 bits in eager: 1 / 0.1 is 10 there.
        quotient = rounded(b, b.same("arith.divf", *values), node.element)
        return b.same("math.trunc", quotient)
    return _quotient(b, node, *values)


@emits("floor_divide")
def emit_floor_divide(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x / y`` rounded down."""
    element, (x, y) = node.element, values
    if element.is_float:
        return _float_floor_divide(b, element, x, y)
    quotient = _quotient(b, node, x, y)
    if element.kind != "signed":
        return quotient
    rest = b.same("arith.subi", x, b.same("arith.muli", quotient, y))
    below = b.same("arith.subi", quotient, b.constant(1, element.register_name))
    return b.select(_needs_correction(b, element, rest, y), below, quotient)


@emits("remainder")
def emit_remainder(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x - y * floor(x / y)``: the sign of y."""
    element, y = node.element, values[1]
    rest = emit_fmod(b, node, values)
    if element.kind not in ("float", "signed"):
        return rest
    add = "arith.addf" if element.is_float else "arith.addi"
    corrected = b.same(add, rest, y)
    return b.select(_needs_correction(b, element, rest, y), corrected, rest)


@emits("fmod")
def emit_fmod(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x - y * trunc(x / y)``: the sign of x."""
    element, (x, y) = node.element, values
    if element.is_float:
        return b.same("arith.remf", x, y)
    divisor = _safe_divisor(b, node, y)
    if element.kind != "signed":
        return b.same("arith.remui", x, divisor)
    # x % -1 is 0, as is x % 1, which cannot overflow.
    return b.same("arith.remsi", x, _without_minus_one(b, element, divisor)[0])


def _quotient(b: Builder, node: ComputeNode, x: Value, y: Value) -> Value:
    element = node.element
    divisor = _safe_divisor(b, node, y)
    if element.kind != "signed":
        return b.same("arith.divui", x, divisor)
    divisor, is_minus_one = _without_minus_one(b, element, divisor)
    quotient = b.same("arith.divsi", x, divisor)
    zero = b.constant(0, element.register_name)
    return b.select(is_minus_one, b.same("arith.subi", zero, x), quotient)


def _safe_divisor(b: Builder, node: ComputeNode, y: Value) -> Value:
    """The divisor with 0 replaced by 1, after recording that it was 0."""
    divisor = node.operands[1]
    if isinstance(divisor, ConstantNode) and divisor.value != 0:
        return y
    element = node.element
    zero = b.constant(0, element.register_name)
    is_valid = b.compare_ints("ne", y, zero)
    b.check(is_valid)
    return b.select(is_valid, y, b.constant(1, element.register_name))


def _without_minus_one(b: Builder, element: Element, y: Value) -> tuple[Value, Value]:
    name = element.register_name
    is_minus_one = b.compare_ints("eq", y, b.constant(-1, name))
    return b.select(is_minus_one, b.constant(1, name), y), is_minus_one


def _needs_correction(b: Builder, element: Element, rest: Value, y: Value) -> Value:
    """True where a rest is left whose sign is not the divisor's."""
    zero = b.constant(0, element.register_name)
    is_left = b.compare("ne", rest, zero, element)
    rest_negative = b.compare("lt", rest, zero, element)
    y_negative = b.compare("lt", y, zero, element)
    differ = b.same("arith.xori", rest_negative, y_negative)
    return b.same("arith.andi", is_left, differ)


def _float_floor_divide(b: Builder, element: Element, x: Value, y: Value) -> Value:
    """CPython's and eager's algorithm: exact where ``floor(x / y)`` rounds up."""
    name = element.register_name
    zero, one = b.constant(0.0, name), b.constant(1.0, name)
    rest = b.same("arith.remf", x, y)
    quotient = b.same("arith.divf", b.same("arith.subf", x, rest), y)
    below = b.same("arith.subf", quotient, one)
    quotient = b.select(_needs_correction(b, element, rest, y), below, quotient)
    rounded = b.same("math.floor", quotient)
    error = b.same("arith.subf", quotient, rounded)
    above = b.same("arith.addf", rounded, one)
    is_far = b.compare_floats("ogt", error, b.constant(0.5, name))
    rounded = b.select(is_far, above, rounded)
    plain = b.same("arith.divf", x, y)
    signed_zero = b.same("math.copysign", zero, plain)
    # "une", so that a NaN quotient stays NaN.
    is_nonzero = b.compare_floats("une", quotient, zero)
    result = b.select(is_nonzero, rounded, signed_zero)
    return b.select(b.compare_floats("oeq", y, zero), plain, result)


def emit_integer_power(b: Builder, element: Element, x: Value, y: Value) -> Value:
    """``x ** y`` by repeated squaring; a negative exponent leaves 1, -1 or 0."""
    name = element.register_name
    zero, one = b.constant(0, name), b.constant(1, name)
    power = _power_loop(b, element, x, y)
    if element.kind != "signed":
        return power
    is_odd = b.compare_ints("ne", b.same("arith.andi", y, one), zero)
    minus_one = b.constant(-1, name)
    of_minus_one = b.select(is_odd, minus_one, one)
    is_minus_one = b.compare_ints("eq", x, minus_one)
    inverse = b.select(is_minus_one, of_minus_one, zero)
    inverse = b.select(b.compare_ints("eq", x, one), one, inverse)
    return b.select(b.compare_ints("slt", y, zero), inverse, power)


def _power_loop(b: Builder, element: Element, x: Value, y: Value) -> Value:
    """Squares once for each bit of the exponent."""
    name = element.register_name
    bits = [b.scalar_constant(bound, "index") for bound in (0, element.bits, 1)]
    one, zero = b.constant(1, name), b.constant(0, name)
    with b.loop(bits, [one, x, y]) as (_, (result, base, exponent)):
        is_set = b.compare_ints("ne", b.same("arith.andi", exponent, one), zero)
        product = b.same("arith.muli", result, base)
        result = b.select(is_set, product, result)
        square = b.same("arith.muli", base, base)
        rest = b.same("arith.shrui", exponent, one)
        results = b.yield_loop([result, square, rest])
    return results[0]
