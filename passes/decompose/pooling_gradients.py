"""Gradients of pooling on a GPU: each element gathers from the windows that it is in.

ATen's gradient of maxima has a thread for each element, too, but reads the positions of
all windows around it, and what comes before and after it are kernels of their own.
Where windows move by ``s``, an element is in at most ``ceil(k / s)`` of ``k`` elements
along each dim: number ``floor((h + p) / s)``, and those before it.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.graph_builder import GraphBuilder

_MOST_TERMS = 9
"""Windows around an element; for more ATen is as fast."""


def max_pool_backward(op, b: GraphBuilder) -> list[ir.Value] | None:
    """``aten.max_pool2d_with_indices_backward``, where windows have no gaps."""
    kernel, stride, padding, dilation = (_pair(op.args[n]) for n in range(2, 6))
    refs = [op.args[n] for n in (0, 1, 7)]
    if not all(isinstance(ref, OperandRef) for ref in refs):
        return None
    g, x, index = (op.operands[ref.index] for ref in refs)
    if any(step != 1 for step in dilation):
        return None
    sides = _sides(b, (kernel, stride or kernel, padding), g, x)
    if sides is None:
        return None
    shape = _shape(x)
    counter = b.typed("iota", [], (shape[-2] * shape[-1],), ty.i64(), start=0, step=1)
    here = b.reshape(counter, shape[-2:])
    wide = b.widened(g)
    zero, total = b.like(0.0, wide), None
    for row in sides[0]:
        for column in sides[1]:
            found = b.op("eq", _taken(b, index, row, column), here)
            for side, dims in ((row, 2), (column, 1)):
                found = b.op("logical_and", found, _along(b, side.is_inside, dims))
            term = b.op("where", found, _taken(b, wide, row, column), zero)
            total = term if total is None else b.op("add", total, term)
    return [b.cast(total, op.results[0].type.element_type)]


def avg_pool_backward(op, b: GraphBuilder) -> list[ir.Value] | None:
    """``aten.avg_pool2d_backward``, where all windows divide by the same number."""
    kernel, stride, padding = (_pair(op.args[n]) for n in range(2, 5))
    ceil_mode, counts_padding, divisor = op.args[5:8]
    refs = [op.args[n] for n in (0, 1)]
    if not all(isinstance(ref, OperandRef) for ref in refs):
        return None
    g, x = (op.operands[ref.index] for ref in refs)
    is_same = divisor or (not ceil_mode and (counts_padding or not any(padding)))
    sides = _sides(b, (kernel, stride or kernel, padding), g, x)
    if sides is None or not is_same:
        return None
    wide = b.widened(g)
    zero, total = b.like(0.0, wide), None
    for row in sides[0]:
        for column in sides[1]:
            rows, columns = (_along(b, row.is_in, 2), _along(b, column.is_in, 1))
            found = b.op("logical_and", rows, columns)
            term = b.op("where", found, _taken(b, wide, row, column), zero)
            total = term if total is None else b.op("add", total, term)
    number = b.like(float(divisor or kernel[0] * kernel[1]), total)
    return [b.cast(b.op("div", total, number), op.results[0].type.element_type)]


@dataclass(frozen=True)
class _Side:
    """One of the windows around each element, along one dim.

    Attributes:
        place: its number, at least 0 and below how many there are.
        is_inside: whether there is a window of that number.
        is_in: whether the element is in it.
    """

    place: ir.Value
    is_inside: ir.Value
    is_in: ir.Value


def _sides(
    b: GraphBuilder, window: tuple[list[int], ...], g: ir.Value, x: ir.Value
) -> list[list[_Side]] | None:
    """The windows around each element along both dims; None where they are many."""
    kernel, stride, padding = window
    sizes, outs = _shape(x)[-2:], _shape(g)[-2:]
    known = all(isinstance(n, int) and n > 0 for n in (*sizes, *outs))
    terms = [-(-k // s) for k, s in zip(kernel, stride, strict=True)]
    is_float = ty.is_float(g.type.element_type)
    if b.target != "gpu" or not known or not is_float:
        return None
    if terms[0] * terms[1] > _MOST_TERMS:
        return None
    pairs = zip(sizes, outs, kernel, stride, padding, terms, strict=True)
    return [_along_dim(b, *pair) for pair in pairs]


def _along_dim(
    b: GraphBuilder,
    size: int,
    out: int,
    kernel: int,
    stride: int,
    padding: int,
    terms: int,
) -> list[_Side]:
    place = b.typed("iota", [], (size,), ty.i64(), start=padding, step=1)
    last = place if stride == 1 else _quotient(b, size, padding, stride)
    zero, most, found = b.like(0, place), b.like(out - 1, place), []
    for n in range(terms):
        own = b.op("sub", last, b.like(n, place)) if n else last
        inside = b.op("logical_and", b.op("ge", own, zero), b.op("le", own, most))
        first = b.op("mul", own, b.like(stride, place))
        within = b.op("lt", b.op("sub", place, first), b.like(kernel, place))
        clamped = b.op("minimum", b.op("maximum", own, zero), most)
        found.append(_Side(clamped, inside, b.op("logical_and", inside, within)))
    return found


def _quotient(b: GraphBuilder, size: int, start: int, divisor: int) -> ir.Value:
    """``(h + start) // divisor`` for each ``h``, as views of a counter."""
    count, i64 = (size + start - 1) // divisor + 1, ty.i64()
    counter = b.typed("iota", [], (count,), i64, start=0, step=1)
    column = b.reshape(counter, (count, 1))
    repeated = b.typed("broadcast_to", [column], (count, divisor), i64)
    row = b.reshape(repeated, (count * divisor,))
    return b.typed("slice", [row], (size,), i64, starts=(start,), steps=(1,))


def _taken(b: GraphBuilder, x: ir.Value, row: _Side, column: _Side) -> ir.Value:
    """What windows have at each element."""
    rank = len(_shape(x))
    rows = b.op("take", x, row.place, dim=rank - 2)
    return b.op("take", rows, column.place, dim=rank - 1)


def _along(b: GraphBuilder, mask: ir.Value, dims: int) -> ir.Value:
    (size,) = _shape(mask)
    return b.reshape(mask, (size, *(1,) * (dims - 1)))


def _pair(given: object) -> list[int]:
    numbers = list(given)
    return numbers * 2 if len(numbers) == 1 else numbers


def _shape(value: ir.Value) -> tuple[Size, ...]:
    return ty.shape_of(value.type)
