"""``write-out-reductions``: a reduction of two to four computed elements is arithmetic.

The sum over the three coordinates of a point, or the product of the two sides of a box,
would end a kernel wherever its result is reduced along another dim, or broadcast to
more elements. Elementwise ops do not: what needs the result becomes part of the same
kernel. Distances of 1024 to 1024 points and their minima take 380 us, and took 450 (one
thread of an AMD EPYC with AVX-512, 2026-11-27).

Where the result is broadcast, each element computes it again. A GPU has time for that,
and a launch more costs more: overlaps of 100 x 100 boxes were three kernels and 4.6 us,
where Inductor takes 1.7 (H100, 2026-11-27). On a CPU 300 x 300 take 50 us in three
kernels, in one 84.

Requires: primitives, as ``decompose`` leaves them, after `autograd`.
Establishes: no reduction along one dim of two to four elements, of what elementwise ops
compute, whose result is reduced, or, with ``target=gpu``, broadcast to more elements.

Before::

    %1 = "graph.reduce_sum"(%0) {dims = array<i64: 2>}
        : (tensor<100x100x2xf32>) -> tensor<100x100x1xf32>

After::

    %1 = "graph.slice"(%0) {starts = [0, 0, 0]} -> tensor<100x100x1xf32>
    %2 = "graph.slice"(%0) {starts = [0, 0, 1]} -> tensor<100x100x1xf32>
    %3 = "graph.add"(%1, %2) : tensor<100x100x1xf32>

Sums of 16-bit floats are computed in float32, as the reduction does.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has, has_any
from girih.dialects.graph.reduction import Reduction
from girih.dialects.traits import ELEMENTWISE, REDUCES, SCANS, VIEW
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, function_bodies
from girih.passes.registry import register_pass

MOST_ELEMENTS = 4


@dataclass(frozen=True)
class ShortReductionOptions:
    """Options of the pass."""

    target: str = ""
    """``gpu``: what broadcasts a result computes it, too."""


@register_pass("write-out-reductions", options=ShortReductionOptions)
def run(op: ir.Operation, options: ShortReductionOptions) -> None:
    """Replaces reductions of few elements."""
    repeats = options.target == "gpu"
    for block in function_bodies(op):
        short = [inner for inner in block.operations if _is_short(inner, repeats)]
        for inner in short:
            _replace(inner)
        if short:
            erase_dead_ops(block)


def _is_short(op: ir.OpView, repeats: bool) -> bool:
    if not isinstance(op, Reduction) or not _joins_numbers(op):
        return False
    if len(op.dims) != 1:
        return False
    x = op.operands[0]
    size = ty.shape_of(x.type)[op.dims[0]]
    if not isinstance(size, int) or not 2 <= size <= MOST_ELEMENTS:
        return False
    if isinstance(x.owner, ir.Block) or not has(x.owner.opview, ELEMENTWISE):
        return False
    return _ends_a_kernel(op, repeats)


def _joins_numbers(op: Reduction) -> bool:
    fold = op.FOLD
    return fold is not None and fold.is_plain and bool(fold.joins.kinds[0])


def _ends_a_kernel(op: ir.OpView, repeats: bool) -> bool:
    """Whether what follows a reduction could not stand in its kernel.

    It can where each element is combined with the result, as in a softmax. Written out,
    each would compute all others.
    """
    (result,), (x,) = op.results, op.operands
    pending, seen, ends = [result], {result}, False
    while pending:
        for use in pending.pop().uses:
            reader = use.owner.opview
            if has_any(reader, REDUCES, SCANS):
                ends = True
                continue
            if not has_any(reader, ELEMENTWISE, VIEW):
                continue
            value = reader.results[0]
            if _has_more_dims(value, x):
                ends = ends or repeats
            elif _has_more_dims(value, result):
                return False
            elif value not in seen:
                seen.add(value)
                pending.append(value)
    return ends


def _has_more_dims(value: ir.Value, x: ir.Value) -> bool:
    """Whether a value has sizes that another one does not have."""
    known = [size for size in ty.shape_of(x.type) if size != 1]
    for size in ty.shape_of(value.type):
        if size in known:
            known.remove(size)
        elif size != 1:
            return True
    return False


def _replace(op: ir.OpView) -> None:
    b = GraphBuilder(op)
    x, (dim,) = op.operands[0], op.dims
    element = x.type.element_type
    join = op.FOLD.joins
    if not join.chooses:  # What is smallest or largest is not rounded.
        x = b.widened(x)
    shape = list(ty.shape_of(x.type))
    count, shape[dim] = shape[dim], 1
    steps = (1,) * len(shape)
    total = None
    for place in range(count):
        starts = tuple(place if d == dim else 0 for d in range(len(shape)))
        part = b.typed(
            "slice", [x], shape, x.type.element_type, starts=starts, steps=steps
        )
        total = part if total is None else b.op(join.op, total, part)
    b.replace(op, b.cast(total, element))
