"""Tensors with a part replaced, where a kernel makes them anew."""

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
from girih.dialects.written_parts import writes_argument
from girih.passes.decompose.rules import decomposes
from girih.passes.graph_builder import GraphBuilder

# An element of so many.
_FEWER = 4


@decomposes("insert")
def decompose_insert(op, b: GraphBuilder) -> list[ir.Value] | None:
    """What is before the part, the part, and what is behind it.

    A write to an argument stays: it costs what the part costs, and not the whole. So
    does, on the CPU, one to few elements that lie apart, such as a diagonal: a kernel
    would divide at each element to find out whether it is one of them.
    """
    if writes_argument(op) or b.target == "cpu" and _is_scattered(op):
        return None
    return [_inserted(b, op.x, op.part, list(op.starts), list(op.steps))]


def _is_scattered(op) -> bool:
    """Whether a part has few elements, with others between them."""
    whole, part = ty.shape_of(op.x.type), ty.shape_of(op.part.type)
    if not all(isinstance(size, int) for size in (*whole, *part)):
        return False
    pairs = zip(op.steps, part, strict=True)
    is_apart = any(step != 1 and size > 1 for step, size in pairs)
    return is_apart and product(part) * _FEWER <= product(whole)


def _inserted(
    b: GraphBuilder, x: ir.Value, part: ir.Value, starts: list[Size], steps: list[int]
) -> ir.Value:
    """x with a part replaced, first along the outermost dim in which it is smaller."""
    whole, own = ty.shape_of(x.type), ty.shape_of(part.type)
    dim = next((d for d in range(len(whole)) if whole[d] != own[d]), None)
    if dim is None:
        return part
    size, start, step = own[dim], starts[dim], steps[dim]
    inner = _along(b, x, dim, start, size, step)
    starts[dim], steps[dim] = 0, 1
    new = _inserted(b, inner, part, starts, steps)
    if step != 1 and size != 1:
        return _among(b, x, new, (dim, start, size, step))
    end = start + size
    rest = whole[dim] - end
    before = [] if start == 0 else [_along(b, x, dim, 0, start, 1)]
    after = [] if rest == 0 else [_along(b, x, dim, end, rest, 1)]
    return b.op("concat", [*before, new, *after], dim=dim)


def _along(
    b: GraphBuilder, x: ir.Value, dim: int, start: Size, size: Size, step: int
) -> ir.Value:
    """``size`` elements along a dim, from ``start`` on, each ``step``-th."""
    shape = list(ty.shape_of(x.type))
    shape[dim] = size
    starts = tuple(start if d == dim else 0 for d in range(len(shape)))
    steps = tuple(step if d == dim else 1 for d in range(len(shape)))
    attributes = {"starts": starts, "steps": steps}
    return b.typed("slice", [x], shape, x.type.element_type, **attributes)


def _among(b: GraphBuilder, x: ir.Value, new: ir.Value, where: tuple) -> ir.Value:
    """Every ``step``-th element along ``dim`` from ``new``, the others from x."""
    dim, start, size, step = where
    if size == 0:
        return x
    shape = ty.shape_of(x.type)
    position = b.typed("iota", [], (shape[dim],), ty.i64(), start=0, step=1)
    offset = b.op("sub", position, b.like(start, position))
    stride = b.like(step, position)
    quotient = b.op("floor_divide", offset, stride)
    zero, last = b.like(0, position), b.like(size - 1, position)
    hit = b.op("eq", b.op("remainder", offset, stride), zero)
    hit = b.op("logical_and", hit, b.op("ge", quotient, zero))
    hit = b.op("logical_and", hit, b.op("le", quotient, last))
    index = b.op("minimum", b.op("maximum", quotient, zero), last)
    taken = b.op("take", new, index, dim=dim)
    hit = b.reshape(hit, (shape[dim], *(1,) * (len(shape) - 1 - dim)))
    return b.op("where", hit, taken, x)
