"""Quotients by one divisor of a whole row: a reciprocal for the row, then products.

Only schedules for GPUs make these two primitives, see ``gpu.quotients``. There a
division of float32 takes more than twice as many instructions as these products, and a
branch.

``quotient_scale(s)`` is a power of two with the sign of ``s``. Both numbers are
multiplied by it first, so that the reciprocal is a normal number. ``quotient(y, t, r)``
is ``y / t`` for ``t >= 0`` and ``r = 1 / t``: ``q = y * r`` is off by two units in the
last place at most, and each ``q - r * (t * q - y)``, whose inner product is rounded
once, brings it closer. After two such steps the result is that of a division, correctly
rounded. Where ``|x| < 2**-100`` or the result is subnormal, it is off by one unit at
most.

Source: P. Markstein, Computation of elementary functions on the IBM RISC System/6000
processor (1990), the theorem on correctly rounded quotients.
"""

from collections.abc import Sequence

from girih.passes.tile.emit.builder import Builder, Value
from girih.passes.tile.emit.rules import emits
from girih.passes.tile.nodes import ComputeNode

NAMES = ("quotient_scale", "quotient")
"""They have no op: schedules make them."""
SMALL, LARGE = 2.0**-100, 2.0**100
"""Divisors below and above are scaled."""
_UP, _DOWN = 2.0**64, 2.0**-64


@emits("quotient_scale")
def emit_quotient_scale(
    b: Builder, node: ComputeNode, values: Sequence[Value]
) -> Value:
    """1, 2**64 for small divisors or 2**-64 for large ones, with the divisor's sign."""
    (divisor,) = values
    name = node.element.register_name
    size = b.same("math.absf", divisor)
    is_large = b.compare_floats("ogt", size, b.constant(LARGE, name))
    scale = b.select(is_large, b.constant(_DOWN, name), b.constant(1.0, name))
    is_small = b.compare_floats("olt", size, b.constant(SMALL, name))
    scale = b.select(is_small, b.constant(_UP, name), scale)
    return b.same("math.copysign", scale, divisor)


@emits("quotient")
def emit_quotient(b: Builder, node: ComputeNode, values: Sequence[Value]) -> Value:
    """``x / t`` for ``t >= 0``, from ``x``, ``t`` and ``1 / t``."""
    x, divisor, reciprocal = values
    name = node.element.register_name
    infinity = b.constant(float("inf"), name)
    # Zero stands for an infinite divisor, as infinity times zero would be NaN.
    is_finite = b.compare_floats("olt", divisor, infinity)
    divisor = b.select(is_finite, divisor, b.constant(0.0, name))
    against_x = b.same("arith.negf", x)
    against_r = b.same("arith.negf", reciprocal)
    rough = result = b.same("arith.mulf", x, reciprocal)
    for _ in range(2):
        # Written so that zeros keep their sign.
        error = b.same("math.fma", divisor, result, against_x)
        result = b.same("math.fma", against_r, error, result)
    size = b.same("math.absf", rough)
    return b.select(b.compare_floats("olt", size, infinity), result, rough)
