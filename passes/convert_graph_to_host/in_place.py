"""Which kernels may write their result straight into an argument that eager mutates.

A result that `graph.writes` names is copied into its argument at the end of the
program. The copy and the allocation are saved where all of this holds:

1. A kernel makes the result, and the argument's elements do not overlap each other.
2. No op after that kernel, and no other result, reads the argument's old content.
3. The kernel itself reads the argument not at all, or has one result and reads at each
   point only the element that it writes there.
4. No kernel of the program can fail a check: after a failed check eager runs from the
   start, and must find the arguments as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from girih.dialects.bindings import ir
from girih.dialects.types import shape_of

from .layout import Layout
from .signature import ResultInfo

MAY_FAIL_A_CHECK = frozenset(
    {
        "graph.div",
        "graph.floor_divide",
        "graph.fmod",
        "graph.gather",
        "graph.pow",
        "graph.remainder",
        "graph.take",
        "graph.trunc_divide",
    }
)
"""Indices out of range, integers divided by zero or taken to negative powers."""


def plan_in_place(
    block: ir.Block,
    infos: Sequence[ResultInfo],
    kernels: Sequence[ir.OpView],
    layouts: Mapping[ir.Value, Layout],
) -> dict[ir.Value, ir.Value]:
    """For results that may be written in place, the argument that they overwrite.

    Args:
        block: the body of the graph function.
        infos: what eager promises about each result.
        kernels: the ops of `block` that become kernels.
        layouts: the layouts of the arguments.
    """
    writes = dict(_writes(block, infos))
    if not writes or any(map(_may_fail, kernels)):
        return {}
    order = {op: position for position, op in enumerate(block.operations)}
    makers = {result: op for op in kernels for result in op.results}
    return {
        value: argument
        for value, argument in writes.items()
        if value in makers
        and not _overlaps_itself(layouts[argument])
        and _is_last_reader(makers[value], argument, order)
        and _reads_in_place(makers[value], argument)
        and _has_same_shape(value, argument)
    }


def _writes(
    block: ir.Block, infos: Sequence[ResultInfo]
) -> Iterator[tuple[ir.Value, ir.Value]]:
    arguments = list(block.arguments)
    returned = block.operations[len(block.operations) - 1].operands
    taken = set()
    for value, info in zip(returned, infos, strict=True):
        if info.writes is not None and value not in taken:
            taken.add(value)
            yield value, arguments[info.writes]


def _may_fail(op: ir.OpView) -> bool:
    inner = op.regions[0].blocks[0].operations if op.name == "graph.fusion" else [op]
    return any(
        each.name in MAY_FAIL_A_CHECK and not _is_float_arithmetic(each)
        for each in inner
    )


def _is_float_arithmetic(op: ir.OpView) -> bool:
    if op.name in ("graph.gather", "graph.take"):
        return False
    return isinstance(op.operands[0].type.element_type, ir.FloatType)


def _overlaps_itself(layout: Layout) -> bool:
    """Whether two elements may be one; a layout is only known to be without overlap."""
    if layout.is_contiguous:
        return False
    dims = zip(layout.strides, layout.shape, strict=True)
    kept = [(stride, size) for stride, size in dims if size != 1]
    if not all(isinstance(number, int) for dim in kept for number in dim):
        return True
    reach = 0
    for stride, size in sorted(kept):
        if stride <= reach:
            return True
        reach += stride * (size - 1)
    return False


def _is_last_reader(
    maker: ir.OpView, argument: ir.Value, order: Mapping[ir.OpView, int]
) -> bool:
    """Whether nothing behind `maker` reads the argument, or a view of it."""
    for use in argument.uses:
        op = use.owner.opview
        if op.operation.name == "func.return":
            return False
        if order[op] > order[maker]:
            return False
        views = op.results if _may_be_view(op) else ()
        if not all(_is_last_reader(maker, view, order) for view in views):
            return False
    return True


def _may_be_view(op: ir.OpView) -> bool:
    return getattr(type(op), "FAMILY", None) in ("shape", "extern")


def _reads_in_place(maker: ir.OpView, argument: ir.Value) -> bool:
    """Whether each point of the kernel reads the argument only where it writes."""
    positions = [i for i, value in enumerate(maker.operands) if value == argument]
    if any(_is_view_of(value, argument) for value in maker.operands):
        return False
    if not positions:
        return True
    if len(maker.results) != 1 or maker.name != "graph.fusion" or maker.reduced:
        return False
    inner = maker.regions[0].blocks[0].arguments
    return all(
        use.owner.opview.FAMILY == "elementwise" or use.owner.name == "graph.yield"
        for position in positions
        for use in inner[position].uses
    )


def _is_view_of(value: ir.Value, argument: ir.Value) -> bool:
    """Whether ops that may be views make the value from the argument."""
    if not isinstance(value, ir.OpResult):
        return False
    op = value.owner.opview
    return _may_be_view(op) and any(
        operand == argument or _is_view_of(operand, argument) for operand in op.operands
    )


def _has_same_shape(value: ir.Value, argument: ir.Value) -> bool:
    return shape_of(value.type) == shape_of(argument.type)
