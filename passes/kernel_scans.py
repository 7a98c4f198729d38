"""Which scans are kernels.

A kernel goes along a scan from its first element to its last, so it needs many that go
on side by side. Few long ones stay library ops, which split them.
"""

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import product
from girih.dialects.traits import SCANS
from girih.dialects.types import shape_of

# Scans of up to so many elements are kernels even if there is only one; of longer ones,
# there must be one for this many elements.
SHORT_SCAN = 4096
LONG_SCAN = 128


def is_left_to_library(op: ir.OpView) -> bool:
    """Whether an op is a scan that a library should compute."""
    if not has(op, SCANS):
        return False
    shape = shape_of(op.operands[0].type)
    if not shape:
        return True
    length = shape[op.dim]
    others = product(size for dim, size in enumerate(shape) if dim != op.dim)
    if not isinstance(length, int) or not isinstance(others, int):
        return len(shape) == 1
    return length > max(SHORT_SCAN, others * LONG_SCAN)
