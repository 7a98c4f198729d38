"""How an op's class says what its value and its derivative are.

``VALUE`` is a composite's formula, from which ``decompose`` makes the op's rule::

    class SiluOp(Activation, name="silu"):
        VALUE = staticmethod(lambda f, x: x * f.sigmoid(x))

``GRADIENT`` is a formula, from which ``autograd`` makes the op's rule, or the reason
why there is no derivative::

    class Expm1Op(FloatUnary, name="expm1"):
        GRADIENT = of_result(lambda f, g, y: g * (y + 1))

``f`` has each op of ``graph`` as a function, as in ``f.exp(x)``; ``g`` is the cotangent
of the result; the third is the operand, or the result where the formula is one of the
result. Values add, subtract, multiply, divide and compare, also with numbers; truths
join with ``&`` and ``|``, and ``f.where`` chooses. bf16 and f16 are widened to f32
before, and what a formula gives is rounded once. The formula of a gradient uses ops
that have derivatives themselves. Formulas get the op's attributes by name.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

Formula = Callable[..., Any]


class Gradient(NamedTuple):
    """The derivative of a function of one operand.

    Attributes:
        known: The field that the formula reads; it is kept for the backward pass.
        formula: What it computes.
        is_followed: Whether eager's gradient has a derivative by what the formula
            reads, which is zero; without, it has none.
    """

    known: str
    formula: Formula
    is_followed: bool = False


def of_operand(formula: Formula, is_followed: bool = False) -> Gradient:
    """The gradient in terms of the operand ``x``."""
    return Gradient("x", formula, is_followed)


def of_result(formula: Formula) -> Gradient:
    """The gradient in terms of the result ``y``."""
    return Gradient("y", formula)


class Gradients(NamedTuple):
    """The derivative of a function of several operands, which broadcast.

    Attributes:
        formula: ``formula(f, g, *operands)`` gives one gradient for each operand.
    """

    formula: Formula


def of_operands(formula: Formula) -> Gradients:
    """The gradients in terms of all operands."""
    return Gradients(formula)


class NoGradient(NamedTuple):
    """No derivative goes through an op.

    Attributes:
        reason: Why: one sentence.
        is_inactive: Whether eager's results don't require a gradient either.
    """

    reason: str
    is_inactive: bool = False


class Promotes(Enum):
    """In which dtype ATen computes an op, and what dtype the result has.

    With ``ATEN`` it is all that the importer and the shape rules have to know of an
    elementwise op.
    """

    SAME = "the operand's, which is the result's"
    WHOLE = "the operand's; integers are the result as they are"
    TO_FLOAT = "the promoted one, or the default float where that has integers"
    SCALED = "as TO_FLOAT; the result lies as the operand does"
    COMMON = "the promoted one, which is the result's"
    COMPARES = "the promoted one; the result is bool"
    TRUTHS = "bool, as which operands are read"


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
