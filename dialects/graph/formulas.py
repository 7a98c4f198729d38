"""How an op's class says what its derivative is: ``GRADIENT``.

It is a formula, from which ``autograd`` makes the op's rule, or the reason why there is
no derivative::

    class Expm1Op(FloatUnary, name="expm1"):
        GRADIENT = of_result(lambda f, g, y: g * (y + 1))

A formula is called with three values: ``f`` has each op of ``graph`` as a function, as
in ``f.exp(x)``; ``g`` is the cotangent of the result; the third is the operand, or the
result where the formula is one of the result. Values add, subtract, multiply, divide,
also with numbers. ``autograd`` widens bf16 and f16 to f32 before, and rounds the
gradient once. A formula uses ops that have derivatives themselves; it gets the op's
attributes by name.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

Formula = Callable[[Any, Any, Any], Any]


class Gradient(NamedTuple):
    """The derivative of a function of one operand.

    Attributes:
        known: The field that the formula reads; it is kept for the backward pass.
        formula: What it computes.
    """

    known: str
    formula: Formula


def of_operand(formula: Formula) -> Gradient:
    """The gradient in terms of the operand ``x``."""
    return Gradient("x", formula)


def of_result(formula: Formula) -> Gradient:
    """The gradient in terms of the result ``y``."""
    return Gradient("y", formula)


class NoGradient(NamedTuple):
    """No derivative goes through an op.

    Attributes:
        reason: Why: one sentence.
        is_inactive: Whether eager's results don't require a gradient either.
    """

    reason: str
    is_inactive: bool = False


class Sample(NamedTuple):
    """The operands with which tests try an op.

    Attributes:
        low: The smallest.
        high: The largest.
        attributes: For each case those of the op, by name.
        order: The highest derivative that is compared.
    """

    low: float
    high: float
    attributes: tuple[dict[str, Any], ...] = ({},)
    order: int = 3


HAS_STEPS = NoGradient("it has whole steps: the derivative is 0 wherever there is one")
NO_REAL_NUMBERS = NoGradient("its results are no real numbers")
NONE_IN_TORCH = NoGradient("torch has no derivative of it", is_inactive=True)
