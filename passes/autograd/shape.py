"""Derivatives of views and rearrangements: where elements came from, gradients go."""

from collections.abc import Sequence

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.autograd.extern import calls
from girih.passes.autograd.rules import VjpBuilder, vjp


def slice_along(
    b: VjpBuilder, x: ir.Value, dim: int, start: Size, size: Size
) -> ir.Value:
    """``size`` elements of x along a dim, from ``start`` on."""
    shape = ty.shape_of(x.type)
    starts = [start if axis == dim else 0 for axis in range(len(shape))]
    return slice_at(b, x, starts, (*shape[:dim], size, *shape[dim + 1 :]))


def slice_at(
    b: VjpBuilder, x: ir.Value, starts: Sequence[Size], shape: Sequence[Size]
) -> ir.Value:
    """The box of x with this shape whose first element is at ``starts``."""
    if ty.shape_of(x.type) == tuple(shape):
        return x
    attributes = {"starts": tuple(starts), "steps": (1,) * len(starts)}
    return b.typed("slice", [x], shape, x.type.element_type, **attributes)


def pad_with_zeros(
    b: VjpBuilder, x: ir.Value, low: Sequence[Size], high: Sequence[Size]
) -> ir.Value:
    """x with zeros around it."""
    if all(count == 0 for count in (*low, *high)):
        return x
    return b.op("pad", x, low=tuple(low), high=tuple(high))


@vjp("reshape")
def vjp_reshape(op, cotangents, b: VjpBuilder) -> list:
    """The same elements in the operand's shape."""
    return [b.reshape(cotangents[0], ty.shape_of(op.x.type))]


@vjp("permute")
def vjp_permute(op, cotangents, b: VjpBuilder) -> list:
    """The dims go back to where they came from."""
    order = op.permutation
    return [b.permute(cotangents[0], sorted(range(len(order)), key=order.__getitem__))]


@vjp("broadcast_to")
def vjp_broadcast_to(op, cotangents, b: VjpBuilder) -> list:
    """The sum over the copies of an element."""
    return [b.unbroadcast(cotangents[0], op.x)]


@vjp("slice")
def vjp_slice(op, cotangents, b: VjpBuilder) -> list:
    """Zeros around the gradient, and between its elements where there are steps."""
    (g,) = cotangents
    rank = len(op.starts)
    low, high, excess = [0] * rank, [0] * rank, [0] * rank
    sizes = ty.shape_of(op.x.type)
    for dim, (start, step) in enumerate(zip(op.starts, op.steps, strict=True)):
        count = ty.shape_of(g.type)[dim]
        step = 1 if count == 1 else step
        # Zeros stand on both sides of each element where that makes all begin in
        # whole steps: then they are a column of a table, as `x[..., 1::2]` is.
        before = start % step if isinstance(start, int) else 0
        if step > 1:
            g = _spread(b, g, dim, before, step)
        low[dim] = start - before
        rest = sizes[dim] - low[dim] - count * step
        # Zeros after the last element may end after x; how many is known later.
        excess[dim] = max(-rest, 0) if isinstance(rest, int) else step - 1
        high[dim] = rest + excess[dim]
    return [slice_at(b, pad_with_zeros(b, g, low, high), [0] * rank, sizes)]


@vjp("insert")
def vjp_insert(op, cotangents, b: VjpBuilder) -> list:
    """The part's gradient is that part; x has none there."""
    (g,) = cotangents
    box = {"starts": tuple(op.starts), "steps": tuple(op.steps)}
    rest = part = None
    if b.needs(op.x):
        zeros = b.zeros(op.part.type)
        rest = b.op("insert", g, zeros, **box)
    if b.needs(op.part):
        shape = ty.shape_of(op.part.type)
        part = b.typed("slice", [g], shape, g.type.element_type, **box)
    return [rest, part]


@vjp("window")
def vjp_window(op, cotangents, b: VjpBuilder) -> list:
    """Each element's gradient is the sum of those in the windows that have it."""
    sizes, length = ty.shape_of(op.x.type), ty.shape_of(op.y.type)[-1]
    arguments = [OperandRef(0), sizes, op.dim, length, op.step]
    call = {"op": "aten.unfold_backward.default", "args": arguments}
    made = b.make("extern", [list(cotangents)], call, results=[op.x.type])
    return list(made.results)


@calls("aten.unfold_backward.default")
def vjp_unfold_backward(op, cotangents, b: VjpBuilder) -> list:
    """The windows themselves."""
    (g,) = cotangents
    _, _, dim, _, step = op.args
    shape, element = ty.shape_of(op.inputs[0].type), g.type.element_type
    return [b.typed("window", [g], shape, element, dim=dim, step=step)]


def _spread(b: VjpBuilder, x: ir.Value, dim: int, before: int, step: int) -> ir.Value:
    """Each element along a dim becomes ``step``: ``before`` zeros, itself, zeros."""
    shape = ty.shape_of(x.type)
    split = b.reshape(x, (*shape[: dim + 1], 1, *shape[dim + 1 :]))
    low, high = [0] * (len(shape) + 1), [0] * (len(shape) + 1)
    low[dim + 1], high[dim + 1] = before, step - 1 - before
    padded = pad_with_zeros(b, split, low, high)
    return b.reshape(padded, (*shape[:dim], shape[dim] * step, *shape[dim + 1 :]))


@vjp("concat")
def vjp_concat(op, cotangents, b: VjpBuilder) -> list:
    """Each operand gets its part."""
    (g,) = cotangents
    gradients, start = [], 0
    for x in op.inputs:
        size = ty.shape_of(x.type)[op.dim]
        part = slice_along(b, g, op.dim, start, size) if b.needs(x) else None
        gradients.append(part)
        start = start + size
    return [gradients]


@vjp("pad")
def vjp_pad(op, cotangents, b: VjpBuilder) -> list:
    """The part of the gradient that is x's."""
    return [slice_at(b, cotangents[0], op.low, ty.shape_of(op.x.type))]


@vjp("flip")
def vjp_flip(op, cotangents, b: VjpBuilder) -> list:
    """The gradient in the operand's order."""
    return [b.op("flip", cotangents[0], dims=op.dims)]
