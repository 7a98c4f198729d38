"""Absolute values, angles, exponentials; and complex numbers made of real ones."""

from girih.dialects.bindings import ir
from girih.passes.write_out_complex.rules import (
    Parts,
    PartsBuilder,
    part_of,
    writes_out,
)

_LARGE = {"f32": (80.0, 64.0), "f64": (700.0, 512.0)}
"""Above which exponent ``exp`` takes two steps, and how much the first one leaves out.

The cosine may be so small that the result is finite where the power is not.
"""


def _operand(op, b: PartsBuilder) -> Parts | None:
    values = b.arguments()
    if values is None or len(values) != 1:
        return None
    return b.parts(values[0], part_of(values[0]))


@writes_out("abs", "aten.abs.default")
def write_abs(op, b: PartsBuilder) -> ir.Value | None:
    """The length of the vector of both parts."""
    x = _operand(op, b)
    return None if x is None else length(b, x)


def length(b: PartsBuilder, x: Parts) -> ir.Value:
    """The square root of the sum of squares, which do not overflow.

    Squares of f32 do not in f64. Those of f64 are of quotients by the larger part.
    An infinity is that, whatever the other part is.
    """
    element = x.real.type.element_type
    if str(element) == "f32":
        wide = [b.cast(part, ir.F64Type.get()) for part in x]
        squares = (b.op("mul", part, part) for part in wide)
        found = b.cast(b.op("sqrt", b.op("add", *squares)), element)
    else:
        found = _scaled_length(b, x)
    infinite = b.op("logical_or", *(b.op("isinf", part) for part in x))
    return b.op("where", infinite, b.like(float("inf"), found), found)


def _scaled_length(b: PartsBuilder, x: Parts) -> ir.Value:
    real, imaginary = (b.op("abs", part) for part in x)
    largest = b.op("maximum", real, imaginary)
    least = b.op("minimum", real, imaginary)
    ratio = b.op("div", least, largest)
    root = b.op("sqrt", b.op("add", b.like(1.0, ratio), b.op("mul", ratio, ratio)))
    is_zero = b.op("eq", largest, b.like(0.0, largest))
    return b.op("where", is_zero, largest, b.op("mul", largest, root))


@writes_out("aten.sgn.default")
def write_sign(op, b: PartsBuilder) -> Parts | None:
    """Both parts over the length; 0 for 0."""
    x = _operand(op, b)
    if x is None:
        return None
    size, zero = length(b, x), b.like(0.0, x.real)
    is_zero = b.op("eq", size, zero)
    return Parts(*(b.op("where", is_zero, zero, b.op("div", p, size)) for p in x))


@writes_out("aten.angle.default")
def write_angle(op, b: PartsBuilder) -> ir.Value | None:
    """The angle of the vector of both parts."""
    x = _operand(op, b)
    return None if x is None else b.op("atan2", x.imaginary, x.real)


@writes_out("exp", "aten.exp.default")
def write_exp(op, b: PartsBuilder) -> Parts | None:
    """exp(x) cos(y) + exp(x) sin(y) i.

    As the C standard says: for y = 0 the result is real, and where exp(x) is 0 or an
    infinity, and y is none of numbers, it is 0, or an infinity and NaN.
    """
    found = _operand(op, b)
    if found is None:
        return None
    x, y = found
    zero = b.like(0.0, x)
    limit, step = _LARGE[str(x.type.element_type)]
    is_large = b.op("gt", x, b.like(limit, x))
    less = b.op("where", is_large, b.op("sub", x, b.like(step, x)), x)
    rest = b.op("where", is_large, b.op("exp", b.like(step, x)), b.like(1.0, x))
    power = b.op("exp", less)
    real, imaginary = (
        b.op("mul", b.op("mul", power, b.op(name, y)), rest) for name in ("cos", "sin")
    )
    whole = b.op("mul", power, rest)
    is_real = b.op("eq", y, zero)
    real = b.op("where", is_real, whole, real)
    imaginary = b.op("where", is_real, y, imaginary)
    is_open = b.op("logical_not", b.op("isfinite", y))
    infinite = b.op("isinf", x)
    special = b.op("logical_and", is_open, infinite)
    is_low = b.op("logical_and", special, b.op("lt", x, zero))
    real = b.op("where", special, whole, real)
    return Parts(real, b.op("where", is_low, zero, imaginary))


# Of real numbers ------------------------------------------------------------------


@writes_out("aten.complex.default")
def write_complex(op, b: PartsBuilder) -> Parts | None:
    """The operands are the parts."""
    values = b.arguments()
    return None if values is None else Parts(*values)


@writes_out("aten.polar.default")
def write_polar(op, b: PartsBuilder) -> Parts | None:
    """A length times cosine and sine of an angle."""
    values = b.arguments()
    if values is None:
        return None
    size, angle = values
    return Parts(*(b.op("mul", size, b.op(name, angle)) for name in ("cos", "sin")))
