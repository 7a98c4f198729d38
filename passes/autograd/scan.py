"""Derivatives of scans, sorting and selecting."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.autograd.rules import VjpBuilder, vjp

# Numbers so low that e**x is 0 even after another number is subtracted.
_LOGARITHM_OF_ZERO = {
    "f16": -(2.0**15),
    "bf16": -(2.0**127),
    "f32": -(2.0**127),
    "f64": -(2.0**1023),
}


@vjp("cumsum")
def vjp_cumsum(op, cotangents, b: VjpBuilder) -> list:
    """The running sum from the end."""
    (g,) = cotangents
    if not op.x.type.rank:
        return [g]
    return [_from_the_end(b, "cumsum", g, op.dim)]


@vjp("cumprod")
def vjp_cumprod(op, cotangents, b: VjpBuilder) -> list:
    """The products that hold x[i], without it: y[j] / x[i] for each j from i on.

    A zero cannot be divided by, so the products without it are computed anew. With two
    zeros all gradients from the second one on are 0, but its own still depends on the
    first. That of a third one has no derivative other than 0.
    """
    (g,) = cotangents
    if not op.x.type.rank:
        return [g]
    dim, x = op.dim, op.x
    one, is_zero = b.like(1.0, x), b.op("eq", x, b.like(0.0, x))
    whole = _from_the_end(b, "cumsum", b.mul(g, op.y), dim)
    quotient = b.div(whole, b.where(is_zero, one, x))
    return [b.where(is_zero, _without_zeros(b, x, g, is_zero, dim), quotient)]


def _without_zeros(
    b: VjpBuilder, x: ir.Value, g: ir.Value, is_zero: ir.Value, dim: int
) -> ir.Value:
    """The gradients of the first two zeros of each row; 0 for others."""
    zeros = b.op("cumsum", b.cast(is_zero, ty.i64()), dim=dim)
    has_one, has_two = (b.op("eq", zeros, b.like(n, zeros)) for n in (1, 2))
    first, second = (
        b.op("logical_and", is_zero, has_so_many) for has_so_many in (has_one, has_two)
    )
    is_left_out = b.op("logical_or", first, second)
    rest = b.op("cumprod", b.where(is_left_out, b.like(1.0, x), x), dim=dim)
    terms = b.mul(g, rest)

    def total(condition: ir.Value, value: ir.Value) -> ir.Value:
        return b.sum(b.masked(condition, value), [dim])

    before, after = total(has_one, terms), total(has_two, terms)
    # What overflows behind the second zero is multiplied by it, and is 0 in eager.
    after = b.masked(b.op("isfinite", after), after)
    of_first = b.add(before, b.mul(total(second, x), after))
    of_second = b.masked(second, b.mul(total(first, x), after))
    return b.where(first, of_first, of_second)


def _from_the_end(b: VjpBuilder, name: str, x: ir.Value, dim: int) -> ir.Value:
    """The scan from the last element to the first."""
    backwards = b.op("flip", x, dims=(dim,))
    return b.op("flip", b.op(name, backwards, dim=dim), dims=(dim,))


@vjp("logcumsumexp")
def vjp_logcumsumexp(op, cotangents, b: VjpBuilder) -> list:
    """The sum of g[j] e**(x[i] - y[j]) over j from i on.

    The positive and the negative terms are summed as logarithms, so none overflows.
    """
    (g,) = cotangents
    if not op.x.type.rank:
        return [g]
    zero = b.like(0.0, g)
    positive = _weighted(op, g, b.op("gt", g, zero), b)
    negative = _weighted(op, b.neg(g), b.op("lt", g, zero), b)
    return [b.sub(positive, negative)]


def _weighted(op, g: ir.Value, counts: ir.Value, b: VjpBuilder) -> ir.Value:
    """The sum over those gradients that count."""
    # Elsewhere the logarithm is of 1, so that its own derivative is a number, and the
    # term is no infinity, whose distance from another one would be NaN.
    nothing = b.like(_LOGARITHM_OF_ZERO[str(g.type.element_type)], g)
    logarithm = b.op("log", b.where(counts, g, b.like(1.0, g)))
    logarithm = b.where(counts, logarithm, nothing)
    total = _from_the_end(b, "logcumsumexp", b.sub(logarithm, op.y), op.dim)
    return b.op("exp", b.add(total, op.x))


@vjp("scan_max")
def vjp_scan_max(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value was last."""
    return [_from_running_extremum(op, "cummax", cotangents[0], b)]


@vjp("scan_min")
def vjp_scan_min(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value was last."""
    return [_from_running_extremum(op, "cummin", cotangents[0], b)]


def _from_running_extremum(op, name: str, g: ir.Value, b: VjpBuilder) -> ir.Value:
    _, indices = b.make(name, [op.x], {"dim": op.dim}).results
    return _added(op, indices, g, b)


@vjp("cummax", "cummin")
def vjp_running_extremum(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value was last."""
    return [_added(op, op.indices, cotangents[0], b)]


def _added(op, indices: ir.Value, g: ir.Value, b: VjpBuilder) -> ir.Value:
    if not op.x.type.rank:
        return g
    return b.op("scatter_add", b.zeros(op.x.type), indices, g, dim=op.dim)


@vjp("topk")
def vjp_topk(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value came from."""
    return [_scattered(op, cotangents[0], b)]


@vjp("sort")
def vjp_sort(op, cotangents, b: VjpBuilder) -> list:
    """Each gradient goes to where its value came from."""
    return [_scattered(op, cotangents[0], b)]


def _scattered(op, g: ir.Value, b: VjpBuilder) -> ir.Value:
    if not op.x.type.rank:
        return g
    zeros = b.zeros(op.x.type)
    return b.op("scatter", zeros, op.indices, g, dim=op.dim, unique=True)
