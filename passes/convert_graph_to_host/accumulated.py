"""Results of kernels that add to what lies in memory.

An ``accumulate`` gives its first operand with something added to some elements. Its
kernel writes these elements alone, so the result lies where the operand does, or in a
contiguous copy of it, which the launch program makes.
"""

from __future__ import annotations

from collections.abc import Iterator

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import ACCUMULATES


def accumulated(op: ir.OpView) -> Iterator[tuple[ir.Value, int]]:
    """Yields what a kernel adds to: a result, and the number of its operand."""
    if op.operation.name != "graph.fusion":
        if has(op, ACCUMULATES):
            yield op.results[0], 0
        return
    block = op.regions[0].blocks[0]
    last = block.operations[len(block.operations) - 1]
    for result, value in zip(op.results, last.operands, strict=True):
        if not isinstance(value.owner, ir.Block) and has(value.owner, ACCUMULATES):
            yield result, ir.BlockArgument(value.owner.operands[0]).arg_number


def is_accumulated(value: ir.Value) -> bool:
    """Whether a kernel makes a value by adding to another one."""
    if isinstance(value.owner, ir.Block):
        return False
    return any(result == value for result, _ in accumulated(value.owner.opview))
