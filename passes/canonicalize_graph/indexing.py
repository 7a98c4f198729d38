"""Reading at known indices is slicing."""

from math import prod

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.passes.canonicalize_graph.rules import Simplifier, canonicalizes


@canonicalizes("take")
def take_of_known_positions(op, b: Simplifier) -> ir.Value | None:
    """Rows at start, start + step, ... are a slice, where all are in range."""
    shape, dim = ty.shape_of(op.x.type), op.dim
    positions = _positions(op.index, b)
    if positions is None or not isinstance(shape[dim], int):
        return None
    start, step, count = positions
    last = start + step * max(count - 1, 0)
    if start < 0 or step < 1 or last >= shape[dim]:
        return None
    zeros, ones = [0] * len(shape), [1] * len(shape)
    starts = (*zeros[:dim], start, *zeros[dim + 1 :])
    steps = (*ones[:dim], step, *ones[dim + 1 :])
    sliced = (*shape[:dim], count, *shape[dim + 1 :])
    element = op.x.type.element_type
    rows = b.typed("slice", [op.x], sliced, element, starts=starts, steps=steps)
    return b.reshape(rows, ty.shape_of(op.y.type))


def _positions(index: ir.Value, b: Simplifier) -> tuple[int, int, int] | None:
    """Returns start, step and count of an index that counts, None for others."""
    shape = ty.shape_of(index.type)
    if not all(isinstance(size, int) for size in shape):
        return None
    number = b.number(index)
    if isinstance(number, int) and prod(shape) == 1:
        return number, 1, 1
    reshaped = b.producer(index, "reshape")
    counter = b.producer(reshaped.x if reshaped is not None else index, "iota")
    if counter is None:
        return None
    start, step = counter.start, counter.step
    if not isinstance(start, int) or not isinstance(step, int):
        return None
    return start, step, prod(shape)
