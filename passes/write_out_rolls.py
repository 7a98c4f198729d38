"""``write-out-rolls``: tensors that are rolled are read at an index that wraps.

A roll is a concat of two parts of one tensor, and its gradient is the sum of two padded
parts. A kernel reads each part behind a mask, and for a roll along two dims four of
them. With one ``take`` a roll is one load, whose index is computed once for a row or in
stretches of it. The windows of 32 x 14 x 14 x 96, rolled along both sides, take 36 us
instead of 202 (bf16, one core, AVX-512, 2026-11-27).

Where elementwise ops compute the tensor, and others read it as it is, too, the parts
stay: `fuse` has the kernel that computes it read its own row again.

Requires: primitives and library ops, as ``decompose`` leaves them.
Establishes: with ``target=cpu``, no concat of two ops, and no sum of two pads, rolls
another tensor along a dim whose size is known. Otherwise nothing changes.

Before::

    %0 = "graph.slice"(%x) {starts = array<i64: 3, 0>, ...} : ... -> tensor<11x96xf32>
    %1 = "graph.slice"(%x) {starts = array<i64: 0, 0>, ...} : ... -> tensor<3x96xf32>
    %2 = "graph.concat"(%0, %1) {dim = 0 : i64} : ... -> tensor<14x96xf32>

After, where ``%index`` is ``(i + 3) % 14``, as maxima and minima that ``tile`` cuts
into linear pieces::

    %2 = "graph.take"(%x, %index) {dim = 0 : i64} :
        (tensor<14x96xf32>, tensor<14xi64>) -> tensor<14x96xf32>
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.attributes import NUMBER
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import ELEMENTWISE
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, function_bodies
from girih.passes.registry import register_pass


@dataclass(frozen=True)
class RollOptions:
    """Options of the pass."""

    target: str = ""
    """``cpu``, or nothing for no change."""


@register_pass("write-out-rolls", options=RollOptions)
def run(op: ir.Operation, options: RollOptions) -> None:
    """Replaces rolls by reads at an index that wraps."""
    if options.target != "cpu":
        return
    for block in function_bodies(op):
        has_changed = False
        for inner in list(block.operations):
            roll = _roll_of(inner)  # of what a roll before it has become
            if roll is not None:
                _replace(inner, roll)
                has_changed = True
        if has_changed:
            erase_dead_ops(block)


@dataclass(frozen=True)
class _Roll:
    """``x``, read along ``dim`` from ``start`` on, and then from 0."""

    x: ir.Value
    dim: int
    start: int


def _replace(op: ir.OpView, roll: _Roll) -> None:
    b, i64 = GraphBuilder(op), ty.i64()
    size = ty.shape_of(roll.x.type)[roll.dim]
    after, wrapped = roll.start, roll.start - size + 1
    index = b.typed("iota", [], (size,), i64, start=after, step=1)
    wraps = b.typed("iota", [], (size,), i64, start=wrapped, step=1)
    wraps = b.op("maximum", wraps, b.constant(0, i64))
    wraps = b.op("minimum", wraps, b.constant(1, i64))
    index = b.op("sub", index, b.op("mul", wraps, b.constant(size, i64)))
    b.replace(op, b.op("take", roll.x, index, dim=roll.dim))


def _roll_of(op: ir.OpView) -> _Roll | None:
    """What an op rolls; None for other ops."""
    if op.operation.name == "graph.concat" and len(op.operands) == 2:
        return _rolled(op, op.operands, op.dim)
    if op.operation.name == "graph.add":
        return _rolled_gradient(op)
    return None


def _rolled(op: ir.OpView, parts, dim: int) -> _Roll | None:
    """The roll of which these are the parts in order."""
    b = GraphBuilder(op)
    slices = [b.producer(part, "slice") for part in parts]
    if not all(slices) or slices[0].x != slices[1].x:
        return None
    x = slices[0].x
    if _is_computed(x) and not _has_uses(x, len(slices)):
        return None
    shape, result = ty.shape_of(x.type), ty.shape_of(op.results[0].type)
    if shape != result or not isinstance(shape[dim], int):
        return None
    if any(step != 1 for part in slices for step in part.steps):
        return None
    cut = ty.shape_of(parts[1].type)[dim]
    # With all elements of x along the other dims, these begin at 0.
    starts = [part.starts[dim] for part in slices]
    return _Roll(x, dim, cut) if starts == [cut, 0] else None


def _rolled_gradient(op: ir.OpView) -> _Roll | None:
    """The roll that a sum of two padded parts is."""
    b = GraphBuilder(op)
    pads = [b.producer(operand, "pad") for operand in op.operands]
    if not all(pads) or any(NUMBER.decode(p.attributes["value"]) != 0 for p in pads):
        return None
    for first, second in (pads, pads[::-1]):
        padded = [dim for dim, high in enumerate(first.high) if high != 0]
        if len(padded) != 1 or any(low != 0 for low in first.low):
            continue
        (dim,) = padded
        length = ty.shape_of(first.x.type)[dim]
        expected = [0] * len(first.high)
        expected[dim] = length
        if list(second.low) == expected and not any(second.high):
            return _rolled(op, (first.x, second.x), dim)
    return None


def _has_uses(x: ir.Value, count: int) -> bool:
    """Whether so many operands are a value."""
    return len(list(x.uses)) == count


def _is_computed(x: ir.Value) -> bool:
    return not isinstance(x.owner, ir.Block) and has(x.owner.opview, ELEMENTWISE)
