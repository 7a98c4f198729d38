"""Writes to parts of arguments, as ``insert`` ops: one for each write."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.dialects.types import shape_of
from girih.dialects.written_parts import INSERT
from girih.frontend.importer.builder import Builder, Operand

_Box = tuple[Sequence[Size], Sequence[int]]


def insert(
    b: Builder, base: Operand, new: Operand, where: tuple[int, Size, Size, int]
) -> Operand:
    """base with ``size`` elements along ``dim`` from new: ``(dim, start, size, step)``.

    Where new is itself the same part of base with a part replaced, as the part of a
    part that was written is, that smaller part is put into base.
    """
    dim, start, size, step = where
    if new.shape == base.shape:
        return new
    if size == 0:
        return base
    starts, steps = [0] * base.rank, [1] * base.rank
    starts[dim], steps[dim] = start, 1 if size == 1 else step
    inner = _inner(base, new, dim, (starts, steps))
    if inner is not None:
        part, (starts, steps) = inner
        shape = tuple(part.shape)
        if len(shape) < base.rank:
            part = b.reshape(part, (*shape[:dim], 1, *shape[dim:]))
        new = part
    attributes = {"starts": list(starts), "steps": list(steps)}
    return b.op("insert", [base, new], attributes, (base.shape, base.dtype))


def _inner(
    base: Operand, new: Operand, dim: int, box: _Box
) -> tuple[Operand, _Box] | None:
    """What new has in place of its own elements, and where that goes in base."""
    op = _maker(new.value)
    lacks_dim = op is not None and op.name == "graph.reshape"
    if lacks_dim:
        op = _maker(op.operands[0])
    if op is None or op.name != INSERT:
        return None
    inner = op.opview
    source = _maker(inner.x)
    if lacks_dim and source is not None and source.name == "graph.reshape":
        source = _maker(source.operands[0])
    if source is None or source.name != "graph.slice":
        return None
    sliced = source.opview
    starts, steps = list(sliced.starts), list(sliced.steps)
    steps = [
        1 if size == 1 else n for n, size in zip(steps, _sizes(sliced), strict=True)
    ]
    if sliced.x != base.value or (starts, steps) != (list(box[0]), list(box[1])):
        return None
    own = [list(inner.starts), list(inner.steps)]
    if lacks_dim:
        kept = [size for d, size in enumerate(_sizes(sliced)) if d != dim]
        if list(shape_of(inner.x.type)) != kept:
            return None
        own[0].insert(dim, 0)
        own[1].insert(dim, 1)
    elif len(own[0]) != len(starts):
        return None
    pairs = zip(starts, steps, own[0], strict=True)
    joint = [start + step * more for start, step, more in pairs]
    steps = [outer * more for outer, more in zip(steps, own[1], strict=True)]
    part = Operand(inner.part, tuple(shape_of(inner.part.type)), new.dtype)
    return part, (joint, steps)


def _sizes(op: ir.OpView) -> tuple[Size, ...]:
    return shape_of(op.results[0].type)


def _maker(value: ir.Value) -> ir.Operation | None:
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner
