"""Derivatives of activations that no formula on the class gives (``functions``)."""

from girih.dialects.bindings import ir
from girih.passes.autograd.elementwise import number_of
from girih.passes.autograd.extern import calls
from girih.passes.autograd.rules import VjpBuilder, follows, vjp
from girih.passes.canonicalize_graph.numbers import convert


@vjp("clamp")
def vjp_clamp(op, cotangents, b: VjpBuilder) -> list:
    """1 for x from low to high, for low below it, for high above or where it wins."""
    (g,) = cotangents
    x, low, high = op.x, _as_compared(b, op.low), _as_compared(b, op.high)
    by_x = by_low = by_high = None
    if b.needs(x):
        inside = _joined("logical_and", b, ("ge", x, low), ("le", x, high))
        by_x = b.unbroadcast(b.masked(inside, g), x)
    if b.needs(op.low):
        below = _joined("logical_and", b, ("lt", x, low), ("lt", low, high))
        by_low = b.unbroadcast(b.masked(below, g), low)
    if b.needs(op.high):
        above = _joined("logical_or", b, ("gt", x, high), ("lt", high, low))
        by_high = b.unbroadcast(b.masked(above, g), high)
    return [by_x, by_low, by_high]


def _as_compared(b: VjpBuilder, bound: ir.Value | None) -> ir.Value | None:
    """A bound as ATen compares with it: of the type, which its value needn't be."""
    number = None if bound is None else number_of(bound)
    if number is None:
        return bound
    return b.like(convert(number, str(bound.type.element_type)), bound)


def _joined(connective: str, b: VjpBuilder, *comparisons: tuple) -> ir.Value:
    """Joins the comparisons of which both sides are there."""
    given = [
        b.op(name, lhs, rhs)
        for name, lhs, rhs in comparisons
        if lhs is not None and rhs is not None
    ]
    return given[0] if len(given) == 1 else b.op(connective, *given)


follows("inputs", "aten.rrelu_with_noise_functional.default")


@calls("aten.rrelu_with_noise_functional.default")
def vjp_rrelu(op, cotangents, b: VjpBuilder) -> list:
    """The slopes that were drawn, which are the second result."""
    g, _ = cotangents
    return [None if g is None else b.mul(g, op.outputs[1]), None]
