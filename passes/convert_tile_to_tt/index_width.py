"""How wide the integers are that stand for `index` in a kernel.

They have 32 bits where sizes are known and no offset can leave that range: the
farthest element of each buffer, the number of results, the number of points that each
is reduced from, and each constant are below 2**30 in absolute value, which leaves room
for the last, masked block.
"""

from __future__ import annotations

import math

from girih.dialects import types as ty
from girih.dialects.bindings import ir

_LIMIT = 2**30


def index_bits(kernel: ir.OpView) -> int:
    """32 or 64."""
    return 32 if not kernel.symbols and _fits(kernel) else 64


def _fits(kernel: ir.OpView) -> bool:
    spans = [_points(kernel, is_reduced=True), _points(kernel, is_reduced=False)]
    for buffer in kernel.buffers:
        parts = ty.buffer_parts(buffer.type)
        steps = zip(parts.shape, parts.strides, strict=True)
        spans.append(sum(abs(stride) * size for size, stride in steps))
    return max(spans) < _LIMIT and _constants_fit(kernel)


def _points(kernel: ir.OpView, *, is_reduced: bool) -> int:
    reduced = kernel.reduced
    sizes = [s for d, s in enumerate(kernel.domain) if (d in reduced) == is_reduced]
    return math.prod(size for size in sizes if size)


def _constants_fit(kernel: ir.OpView) -> bool:
    large = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "arith.constant" and isinstance(op.results[0].type, ir.IndexType):
            if abs(ir.IntegerAttr(op.attributes["value"]).value) >= _LIMIT:
                large.append(op)
        return ir.WalkResult.ADVANCE

    kernel.operation.walk(visit)
    return not large
