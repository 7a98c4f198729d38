"""Which scans are kernels.

A kernel goes along a scan from its first element to its last, so it needs many that go
on side by side. Few long ones stay library ops, which split them.
"""

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Size, product
from girih.dialects.traits import SCANS
from girih.dialects.types import shape_of

# Scans of up to so many elements are kernels even if there is only one; of longer ones,
# there must be one for this many elements.
SHORT_SCAN = 4096
LONG_SCAN = 128


def is_left_to_library(op: ir.OpView) -> bool:
    """Whether an op is a scan that a library should compute."""
    if not has(op, SCANS) or not op.IN_LIBRARY:
        return False
    return are_few_and_long(shape_of(op.x.type), op.dim)


def are_few_and_long(shape: Sequence[Size], along: int) -> bool:
    """Whether scans along a dim are so few that a library should compute them."""
    if not shape:
        return True
    length = shape[along]
    others = product(size for dim, size in enumerate(shape) if dim != along)
    if not isinstance(length, int) or not isinstance(others, int):
        return len(shape) == 1
    return length > max(SHORT_SCAN, others * LONG_SCAN)
