"""Sums, products and quotients, by the formulas that eager has."""

from girih.dialects.bindings import ir
from girih.passes.write_out_complex.rules import (
    Parts,
    PartsBuilder,
    part_of,
    writes_out,
)


def _operands(op, b: PartsBuilder, count: int, *keywords: str) -> list[Parts] | None:
    """The parts of the operands in the result's precision."""
    values = b.arguments(*keywords)
    if values is None or len(values) != count:
        return None
    element = part_of(op.results[0])
    return [b.parts(value, element) for value in values]


# Sums -----------------------------------------------------------------------------


@writes_out("add", "aten.add.Tensor", "aten.add.Scalar")
def write_add(op, b: PartsBuilder) -> Parts | None:
    """Part by part, after a product with alpha."""
    return _sum(op, b, "add")


@writes_out("sub", "aten.sub.Tensor", "aten.sub.Scalar")
def write_sub(op, b: PartsBuilder) -> Parts | None:
    """Part by part, after a product with alpha."""
    return _sum(op, b, "sub")


def _sum(op, b: PartsBuilder, name: str) -> Parts | None:
    """Eager multiplies by alpha, 1 too: an infinite part makes the other one NaN."""
    operands, alpha = _operands(op, b, 2, "alpha"), b.keyword("alpha", 1)
    if operands is None or not isinstance(alpha, int | float | complex):
        return None
    lhs, rhs = operands
    rhs = product(b, rhs, b.parts(alpha, part_of(op.results[0])))
    return Parts(*(b.op(name, x, y) for x, y in zip(lhs, rhs, strict=True)))


@writes_out("neg", "aten.neg.default")
def write_neg(op, b: PartsBuilder) -> Parts | None:
    """Part by part."""
    operands = _operands(op, b, 1)
    return operands and Parts(*(b.op("neg", part) for part in operands[0]))


@writes_out("aten._conj_physical.default", "aten.conj_physical.default")
def write_conjugate(op, b: PartsBuilder) -> Parts | None:
    """The imaginary part has the other sign."""
    operands = _operands(op, b, 1)
    if operands is None:
        return None
    (x,) = operands
    return Parts(x.real, b.op("neg", x.imaginary))


# Products -------------------------------------------------------------------------


@writes_out("mul", "aten.mul.Tensor", "aten.mul.Scalar")
def write_mul(op, b: PartsBuilder) -> Parts | None:
    """(x + yi)(u + vi) = xu - yv + (xv + yu)i.

    A real factor has the imaginary part 0, with which eager multiplies too: times an
    infinity that is NaN.
    """
    operands = _operands(op, b, 2)
    return operands and product(b, *operands)


def product(b: PartsBuilder, lhs: Parts, rhs: Parts) -> Parts:
    """The parts of a product."""
    (x, y), (u, v) = lhs, rhs
    real = b.op("sub", b.op("mul", x, u), b.op("mul", y, v))
    return Parts(real, b.op("add", b.op("mul", x, v), b.op("mul", y, u)))


@writes_out("aten.square.default")
def write_square(op, b: PartsBuilder) -> Parts | None:
    """A product."""
    operands = _operands(op, b, 1)
    return operands and product(b, *operands, *operands)


@writes_out("aten.pow.Tensor_Scalar")
def write_power(op, b: PartsBuilder) -> Parts | None:
    """Squares and cubes are products, as in eager."""
    values = b.arguments()
    if values is None or len(values) != 2 or values[1] not in (2, 3):
        return None
    x = b.parts(values[0], part_of(op.results[0]))
    square = product(b, x, x)
    return square if values[1] == 2 else product(b, square, x)


# Quotients ------------------------------------------------------------------------


@writes_out("div", "aten.div.Tensor", "aten.div.Scalar")
def write_div(op, b: PartsBuilder) -> Parts | None:
    """Numerator and denominator over the denominator's larger part."""
    operands = _operands(op, b, 2)
    return operands and quotient(b, *operands)


@writes_out("reciprocal", "aten.reciprocal.default")
def write_reciprocal(op, b: PartsBuilder) -> Parts | None:
    """A quotient."""
    operands = _operands(op, b, 1)
    return operands and quotient(b, b.parts(1.0, part_of(op.results[0])), *operands)


def quotient(b: PartsBuilder, lhs: Parts, rhs: Parts) -> Parts:
    """The parts of a quotient, by Smith's formula.

    With the parts of the denominator exchanged where the imaginary one is larger, both
    cases are one: r = d / c, s = 1 / (c + dr), and the result is ((a + br) s,
    (b - ar) s), in the other case ((ar + b) s, (br - a) s).

    Source: R. L. Smith, Algorithm 116: Complex division, CACM 5 (1962).
    """
    (x, y), (u, v) = lhs, rhs
    largest, other = b.op("abs", u), b.op("abs", v)
    is_usual = b.op("ge", largest, other)
    zero, one = b.like(0.0, u), b.like(1.0, u)
    # Where the larger part is 0, so is the other one.
    is_zero = b.op("logical_and", is_usual, b.op("eq", largest, zero))
    c, d = b.op("where", is_usual, u, v), b.op("where", is_usual, v, u)
    ratio = b.op("div", d, c)
    scale = b.op("div", one, b.op("add", c, b.op("mul", d, ratio)))
    p, q = b.op("where", is_usual, x, y), b.op("where", is_usual, y, x)
    real = b.op("mul", b.op("add", p, b.op("mul", q, ratio)), scale)
    part = b.op("mul", p, ratio)
    rest = b.op("where", is_usual, b.op("sub", q, part), b.op("sub", part, q))
    imaginary = b.op("mul", rest, scale)
    return Parts(
        b.op("where", is_zero, b.op("div", x, largest), real),
        b.op("where", is_zero, b.op("div", y, other), imaginary),
    )


# Comparisons ----------------------------------------------------------------------


@writes_out("eq", "aten.eq.Tensor", "aten.eq.Scalar")
def write_eq(op, b: PartsBuilder) -> ir.Value | None:
    """Both parts are equal."""
    return _compared(op, b, "eq", "logical_and")


@writes_out("ne", "aten.ne.Tensor", "aten.ne.Scalar")
def write_ne(op, b: PartsBuilder) -> ir.Value | None:
    """One of the parts is another."""
    return _compared(op, b, "ne", "logical_or")


def _compared(op, b: PartsBuilder, name: str, join: str) -> ir.Value | None:
    values = b.arguments()
    if values is None or len(values) != 2:
        return None
    tensors = [value for value in values if isinstance(value, ir.Value)]
    elements = {part_of(value) for value in tensors}
    if len(elements) > 1:
        return None
    (element,) = elements
    lhs, rhs = (b.parts(value, element) for value in values)
    return b.op(join, *(b.op(name, x, y) for x, y in zip(lhs, rhs, strict=True)))
