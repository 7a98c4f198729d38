"""Mathematical functions, most of them one op of the ``math`` dialect.

Classes of ops name it (``EMIT``); functions of several ops are written here.
``expand-math`` turns these ops into polynomials and states their errors.
"""

import math
from collections.abc import Sequence

from girih.dialects import graph
from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.formula import rule_of
from girih.passes.tile.emit.integers import emit_integer_power
from girih.passes.tile.emit.rules import RULES, Rule, emits
from girih.passes.tile.nodes import ComputeNode, ConstantNode


def _one_op(name: str) -> Rule:
    def rule(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
        return b.same(name, *values)

    return rule


for _cls in graph.OPS.values():
    if _cls.EMIT is not None:
        _make = _one_op if isinstance(_cls.EMIT, str) else rule_of
        RULES.add(_cls.SHORT_NAME, _make(_cls.EMIT))


# From here on log(2 |x|) is as good; the library squares x, which overflows.
_LARGE = 2.0**30


@emits("asinh")
def emit_asinh(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """The inverse of sinh, for large values by its logarithm."""
    return b.same(
        "math.copysign",
        _inverse_hyperbolic(b, "math.asinh", node, values[0]),
        values[0],
    )


@emits("acosh")
def emit_acosh(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """The inverse of cosh, for large values by its logarithm; NaN below 1."""
    return _inverse_hyperbolic(b, "math.acosh", node, values[0])


def _inverse_hyperbolic(b: Builder, name: str, node: ComputeNode, x: Value) -> Value:
    element = node.element.register_name
    magnitude = x if name == "math.acosh" else b.same("math.absf", x)
    logarithm = b.same("math.log", magnitude)
    two = b.constant(math.log(2.0), element)
    is_large = b.compare_floats("ogt", magnitude, b.constant(_LARGE, element))
    large = b.same("arith.addf", logarithm, two)
    return b.select(is_large, large, b.same(name, magnitude))


@emits("rsqrt")
def emit_rsqrt(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``1 / sqrt(x)``, both correctly rounded, as eager computes it."""
    one = b.constant(1.0, node.element.register_name)
    return b.same("arith.divf", one, b.same("math.sqrt", values[0]))


@emits("sigmoid")
def emit_sigmoid(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``1 / (1 + exp(-x))``."""
    one = b.constant(1.0, node.element.register_name)
    power = b.same("math.exp", b.same("arith.negf", values[0]))
    return b.same("arith.divf", one, b.same("arith.addf", one, power))


@emits("pow")
def emit_pow(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x ** y``; small constant exponents become products, as in eager."""
    base, exponent = node.operands
    if not node.element.is_float:
        return emit_integer_power(b, node.element, *values)
    if isinstance(exponent, ConstantNode) and exponent.value in _CONSTANT_POWERS:
        return _CONSTANT_POWERS[exponent.value](b, node, values[0])
    return b.same("math.powf", *values)


def _square(b: Builder, node: ComputeNode, x: Value) -> Value:
    return b.same("arith.mulf", x, x)


def _cube(b: Builder, node: ComputeNode, x: Value) -> Value:
    return b.same("arith.mulf", _square(b, node, x), x)


def _inverse(b: Builder, node: ComputeNode, x: Value) -> Value:
    one = b.constant(1.0, node.element.register_name)
    return b.same("arith.divf", one, x)


# Those that eager special-cases too (aten/src/ATen/native/cpu/PowKernel.cpp), so
# that results agree to the bit; 0.5 and -0.5 differ from powf only for -inf, -0.0.
_CONSTANT_POWERS = {
    2.0: _square,
    3.0: _cube,
    1.0: lambda b, node, x: x,
    -1.0: _inverse,
    -2.0: lambda b, node, x: _inverse(b, node, _square(b, node, x)),
    0.5: lambda b, node, x: b.same("math.sqrt", x),
    -0.5: lambda b, node, x: _inverse(b, node, b.same("math.sqrt", x)),
}
