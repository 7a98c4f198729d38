"""A dialect of our own, which a pass lowers to girih's ops in front of autograd.

Where ops are gone before derivatives are taken, they need neither rules nor kernels.
"""

import girih
import girih_example.operators  # noqa: F401  (an operator is there before its rule)
from girih.plugins import (
    INTS,
    attribute,
    expect,
    functions_of,
    operand,
    result,
    rewriter,
)

poly = girih.plugin("poly")


class EvaluateOp(poly.Op, name="evaluate"):
    """y = c[0] + c[1] * x + c[2] * x**2 + ..."""

    x = operand()
    coefficients = attribute(INTS)
    y = result()

    @staticmethod
    def infer_types(types, attributes):
        """The operand's type."""
        return [types[0]]

    def verify_invariants(self):
        """A polynomial has at least one coefficient."""
        count = len(self.coefficients)
        expect(count > 0, "coefficients", "be at least one", count)


@poly.imports("example::polynomial")
def import_polynomial(b, x, coefficients):
    """Imports a call of the torch operator; a sum of nothing stays with that."""
    if not coefficients or not x.dtype.is_floating_point:
        return NotImplemented
    return b.op("poly.evaluate", [x], {"coefficients": coefficients})


@poly.compiler_pass("lower-polynomials", place="after:import")
def lower_polynomials(module):
    """Horner's rule: ``(c[2] * x + c[1]) * x + c[0]``."""
    for body in functions_of(module):
        for op in list(body.operations):
            if op.operation.name == "poly.evaluate":
                _lower(op)


def _lower(op):
    b = rewriter(op)
    *rest, last = op.coefficients
    y = b.op("mul", b.like(0.0, op.x), op.x)
    y = b.op("add", y, b.like(float(last), op.x))
    for coefficient in reversed(rest):
        y = b.op("add", b.op("mul", y, op.x), b.like(float(coefficient), op.x))
    b.replace(op, y)
