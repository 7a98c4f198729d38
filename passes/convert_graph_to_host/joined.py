"""Parts of a `concat` that the kernels which make them write where they belong.

    %a = graph.fusion ...                 %y: a buffer
    %b = graph.fusion ...                 %a, %b: views of %y, which two kernels write
    %y = graph.concat %a, %b dim 1

So nothing is copied. That is possible where only kernels read a part: what a library
reads, or the caller gets, lies in a buffer of its own. One part that is not made here
is copied into its place. A result that holds parts is itself no part of the next
`concat`: its buffer would have to begin before its first part is made.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.definition import has, role_of
from girih.dialects.dims import Size
from girih.dialects.traits import PRODUCT, VIEW, Role
from girih.dialects.types import shape_of

from .accumulated import is_accumulated
from .kernel_ops import runs_in_kernel
from .layout import Layout

_MOST_COPIED = 1


@dataclass(frozen=True)
class Part:
    """Where a value lies in the result of a `concat`.

    Attributes:
        whole: the result.
        dim: along which its parts follow each other.
        start: the index of the first element along it.
        is_read_alone: whether anything but the `concat` reads the part.
    """

    whole: ir.Value
    dim: int
    start: Size
    is_read_alone: bool

    def layout(self, whole: Layout, shape: tuple[Size, ...]) -> Layout:
        """Where the part's elements lie, counted from where the whole's do."""
        offset = whole.offset + self.start * whole.strides[self.dim]
        return Layout(shape, whole.strides, offset)


def parts_of_concats(
    block: ir.Block,
    written: Container[ir.Value],
    wanted: Container[ir.Value],
) -> dict[ir.Value, Part]:
    """The values that are made where a `concat` would copy them.

    Args:
        block: of graph ops.
        written: values that lie in other buffers.
        wanted: values that must have certain strides.
    """
    found: dict[ir.Value, Part] = {}
    wholes: set[ir.Value] = set()
    for op in block.operations:
        if op.operation.name != "graph.concat" or not runs_in_kernel(op):
            continue
        whole = op.results[0]
        operands = list(op.operands)
        own = [
            value
            for value in operands
            if value not in found
            and value not in written
            and value not in wanted
            and value not in wholes
            and operands.count(value) == 1
            and _is_made_for_kernels(value)
        ]
        if whole in written or not own or len(own) + _MOST_COPIED < len(operands):
            continue
        wholes.add(whole)
        start: Size = 0
        for value in operands:
            if value in own:
                alone = sum(1 for _ in value.uses) > 1
                found[value] = Part(whole, op.dim, start, alone)
            start = start + shape_of(value.type)[op.dim]
    return found


def _is_made_for_kernels(value: ir.Value) -> bool:
    """Whether a kernel makes a value, and nothing but kernels reads it."""
    if isinstance(value.owner, ir.Block) or is_accumulated(value):
        return False
    return all(
        is_kernel(op.opview if isinstance(op, ir.Operation) else op)
        for op in (value.owner, *(use.owner for use in value.uses))
    )


def is_kernel(op: ir.OpView) -> bool:
    """Whether an op becomes a kernel whose schedule takes whatever strides there are.

    Products of matrices have schedules for rows that lie next to each other.
    """
    if op.operation.name == "func.return" or has(op, VIEW):
        return False
    if role_of(op) is Role.KERNEL or not runs_in_kernel(op):
        return False
    inner = op.regions[0].blocks[0].operations if len(op.regions) else ()
    return not any(has(each, PRODUCT) for each in inner)
