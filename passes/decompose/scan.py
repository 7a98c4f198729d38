"""Running extrema as scans, which fuse with what comes before and after.

A rule returns None, and the op stays a call of the library, where there are few long
rows: a kernel goes along each of them from its first element to its last.
"""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder
from girih.passes.kernel_scans import are_few_and_long

_MOST_IN_I32 = 2**31


@decomposes("cummax")
def decompose_cummax(op, b: GraphBuilder) -> list[ir.Value] | None:
    """The running maximum, and the last place up to here that equals it there."""
    return _running_extremum(op, b)


@decomposes("cummin")
def decompose_cummin(op, b: GraphBuilder) -> list[ir.Value] | None:
    """The running minimum, and the last place up to here that equals it there."""
    return _running_extremum(op, b)


def _running_extremum(op, b: GraphBuilder) -> list[ir.Value] | None:
    """Values by one scan, places by another one, of integers.

    An element is the last extreme one up to its own place if it equals the running
    extremum there, or is NaN. The running maximum of the places of such elements says
    which one is the last so far.
    """
    shape = ty.shape_of(op.x.type)
    if are_few_and_long(shape, op.dim):
        return None
    x, element = op.x, op.x.type.element_type
    if ty.is_bool(element):
        x = b.cast(x, ir.IntegerType.get_unsigned(8))
    values = b.op(op.SCAN, x, dim=op.dim)
    is_extreme = b.op("eq", x, values)
    if ty.is_float(element):
        is_extreme = b.op("logical_or", is_extreme, b.op("isnan", x))
    place = _places(b, shape, op.dim)
    candidates = b.op("where", is_extreme, place, b.like(0, place))
    indices = b.op("scan_max", candidates, dim=op.dim)
    return [b.cast(values, element), b.cast(indices, ty.i64())]


def _places(b: GraphBuilder, shape, dim: int) -> ir.Value:
    """Each element's coordinate along a dim, in the smallest type that is fast."""
    size = shape[dim]
    is_small = isinstance(size, int) and size < _MOST_IN_I32
    element = ir.IntegerType.get_signless(32 if is_small else 64)
    place = b.typed("iota", [], (size,), element, start=0, step=1)
    return b.reshape(place, (size, *(1 for _ in shape[dim + 1 :])))
