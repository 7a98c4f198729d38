"""Derivatives of elementwise ops; operands of binary ops may be broadcast.

Functions of one operand are in ``functions``. Ties and special values are those of
eager: a tie of ``maximum`` goes half to each side, a power with exponent 0 is constant.
"""

from math import log

from girih.dialects.bindings import ir
from girih.passes.autograd.rules import NotDifferentiable, VjpBuilder, vjp


def refuse_complex(op: ir.OpView) -> None:
    """Complex numbers run as ATen calls; a product of them would need conjugates."""
    for value in (*op.operands, *op.results):
        if isinstance(value.type.element_type, ir.ComplexType):
            name = op.operation.name
            raise NotDifferentiable(f"'{name}' of complex numbers has no derivative")


def number_of(value: ir.Value) -> float | int | None:
    """The number that a constant holds, None for any other value."""
    if isinstance(value, ir.BlockArgument):
        return None
    maker = value.owner.opview
    is_constant = maker.operation.name in ("graph.constant", "graph.full")
    return maker.value if is_constant else None


def fitted(b: VjpBuilder, gradient: ir.Value, operand: ir.Value) -> ir.Value:
    """A gradient of the operand's own type: summed, then rounded."""
    return b.cast(b.unbroadcast(gradient, operand), operand.type.element_type)


# Arithmetic -------------------------------------------------------------------------


@vjp("add")
def vjp_add(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x + y) = 1; the same for y."""
    (g,) = cotangents
    return [
        b.unbroadcast(g, op.lhs) if b.needs(op.lhs) else None,
        b.unbroadcast(g, op.rhs) if b.needs(op.rhs) else None,
    ]


@vjp("sub")
def vjp_sub(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x - y) = 1; d/dy = -1."""
    (g,) = cotangents
    return [
        b.unbroadcast(g, op.lhs) if b.needs(op.lhs) else None,
        b.neg(b.unbroadcast(g, op.rhs)) if b.needs(op.rhs) else None,
    ]


@vjp("mul")
def vjp_mul(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x * y) = y; the same for y."""
    refuse_complex(op)
    (g,) = cotangents
    return [
        b.unbroadcast(b.mul(g, op.rhs), op.lhs) if b.needs(op.lhs) else None,
        b.unbroadcast(b.mul(g, op.lhs), op.rhs) if b.needs(op.rhs) else None,
    ]


@vjp("div")
def vjp_div(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x / y) = 1 / y; d/dy = -(x / y) / y."""
    refuse_complex(op)
    (g,) = cotangents
    lhs = rhs = None
    if b.needs(op.lhs):
        lhs = b.unbroadcast(b.div(g, op.rhs), op.lhs)
    if b.needs(op.rhs):
        y = b.widened(op.rhs)
        slope = b.div(b.widened(op.y), y)
        rhs = fitted(b, b.mul(b.neg(b.widened(g)), slope), op.rhs)
    return [lhs, rhs]


@vjp("remainder")
def vjp_remainder(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x - floor(x / y) * y) = 1; d/dy = -floor(x / y)."""
    return _vjp_of_remainder(op, cotangents, b, "floor_divide")


@vjp("fmod")
def vjp_fmod(op, cotangents, b: VjpBuilder) -> list:
    """d/dx (x - trunc(x / y) * y) = 1; d/dy = -trunc(x / y)."""
    return _vjp_of_remainder(op, cotangents, b, "trunc_divide")


def _vjp_of_remainder(op, cotangents, b: VjpBuilder, division: str) -> list:
    (g,) = cotangents
    rhs = None
    if b.needs(op.rhs):
        steps = b.op(division, op.lhs, op.rhs)
        rhs = b.neg(b.unbroadcast(b.mul(g, steps), op.rhs))
    return [b.unbroadcast(g, op.lhs) if b.needs(op.lhs) else None, rhs]


@vjp("pow")
def vjp_pow(op, cotangents, b: VjpBuilder) -> list:
    """d/dx x**y = y * x**(y - 1), 0 where y = 0; d/dy = x**y * ln x."""
    refuse_complex(op)
    g = b.widened(cotangents[0])
    lhs = rhs = None
    if b.needs(op.lhs):
        exponent = number_of(op.rhs)
        by_base = _by_base if exponent is None else _by_base_of_number
        lhs = by_base(op, g, b)
        lhs = None if lhs is None else fitted(b, lhs, op.lhs)
    if b.needs(op.rhs):
        rhs = fitted(b, _by_exponent(op, g, b), op.rhs)
    return [lhs, rhs]


def _by_base_of_number(op, g: ir.Value, b: VjpBuilder) -> ir.Value | None:
    """A power whose exponent is known has a simple derivative, often a product."""
    exponent, x = number_of(op.rhs), b.widened(op.lhs)
    if exponent == 0:
        return None
    if exponent == 1:
        return g
    power = x if exponent == 2 else b.op("pow", x, b.like(float(exponent - 1), x))
    return b.mul(g, b.mul(power, exponent))


def _by_base(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    x, exponent = b.widened(op.lhs), b.widened(op.rhs)
    power = b.op("pow", x, b.sub(exponent, b.like(1.0, exponent)))
    is_constant = b.op("eq", exponent, b.like(0.0, exponent))
    slope = b.mul(g, b.mul(exponent, power))
    return b.where(is_constant, b.like(0.0, slope), slope)


def _by_exponent(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    """x**y * ln x, but 0 where x = 0 and y >= 0: the power is constant there."""
    y, base = b.widened(op.y), number_of(op.lhs)
    if base is not None and base > 0:
        return b.mul(g, b.mul(y, log(base)))
    x, exponent = b.widened(op.lhs), b.widened(op.rhs)
    is_constant = b.op(
        "logical_and",
        b.op("eq", x, b.like(0.0, x)),
        b.op("ge", exponent, b.like(0.0, exponent)),
    )
    slope = b.mul(y, b.op("log", x))
    return b.mul(g, b.where(is_constant, b.like(0.0, slope), slope))


@vjp("copysign")
def vjp_copysign(op, cotangents, b: VjpBuilder) -> list:
    """d/dx copysign(x, y) = 1 or -1: whether the sign changed; 0 at x = 0."""
    (g,) = cotangents
    if not b.needs(op.lhs):
        return [None, None]
    sign = b.op("copysign", b.like(1.0, op.rhs), op.rhs)
    factor = b.mul(b.op("sign", op.lhs), sign)
    return [b.unbroadcast(b.mul(g, factor), op.lhs), None]


# Extrema and selection --------------------------------------------------------------


@vjp("maximum")
def vjp_maximum(op, cotangents, b: VjpBuilder) -> list:
    """1 for the larger, one half each where they are equal; 1 for both with NaN."""
    return _vjp_of_extremum(op, cotangents[0], b, ("lt", "gt"))


@vjp("minimum")
def vjp_minimum(op, cotangents, b: VjpBuilder) -> list:
    """1 for the smaller, one half each where they are equal; 1 for both with NaN."""
    return _vjp_of_extremum(op, cotangents[0], b, ("gt", "lt"))


def _vjp_of_extremum(op, g: ir.Value, b: VjpBuilder, loses: tuple[str, str]) -> list:
    """``loses``: the comparisons that say that lhs, or rhs, is not the result."""
    tie = b.op("eq", op.lhs, op.rhs)
    shared = b.where(tie, b.mul(g, 0.5), g)
    zero = b.like(0.0, g)
    return [
        b.unbroadcast(b.where(b.op(name, op.lhs, op.rhs), zero, shared), operand)
        if b.needs(operand)
        else None
        for name, operand in zip(loses, (op.lhs, op.rhs), strict=True)
    ]


@vjp("where")
def vjp_where(op, cotangents, b: VjpBuilder) -> list:
    """1 for what was selected, 0 for the other."""
    (g,) = cotangents
    zero = b.like(0.0 if not _is_complex(g) else 0j, g)
    a = other = None
    if b.needs(op.a):
        a = b.unbroadcast(b.where(op.cond, g, zero), op.a)
    if b.needs(op.b):
        other = b.unbroadcast(b.where(op.cond, zero, g), op.b)
    return [None, a, other]


def _is_complex(value: ir.Value) -> bool:
    return isinstance(value.type.element_type, ir.ComplexType)


@vjp("cast")
def vjp_cast(op, cotangents, b: VjpBuilder) -> list:
    """The gradient in the operand's type."""
    return [b.cast(cotangents[0], op.x.type.element_type)]
