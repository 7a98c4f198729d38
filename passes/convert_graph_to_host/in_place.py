"""Which results are written straight into an argument that eager mutates.

A result that `graph.writes` names is copied into its argument at the end of the
program. The copy and the allocation are saved where all of this holds:

1. No op after the one that makes the result, and no other result, reads the argument's
   old content.
2. The op is a kernel, the argument's elements do not overlap each other, and the kernel
   reads the argument not at all, or without reductions, at each point only the element
   that it writes there (a kernel computes all its results of a point before it stores
   them). Or it is an ATen call that has an in-place twin.
3. No kernel that runs together with the op or after it can fail a check: eager would
   then run from the start, and must find the arguments as they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.definition import has, has_any
from girih.dialects.dims import Size
from girih.dialects.traits import ELEMENTWISE, GATHERS, MAY_ALIAS, MAY_FAIL, REDUCES
from girih.dialects.types import shape_of

from . import layout as layouts
from .accumulated import is_accumulated
from .externs import in_place_call, rule_for
from .layout import Layout
from .signature import ResultInfo


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
    order = {op: position for position, op in enumerate(block.operations)}
    checks = [order[op] for op in kernels if may_fail(op)]
    planned = {}
    for value, argument in _writes(block, infos):
        maker = value.owner.opview
        if maker in kernels:
            layout = layouts[argument]
            fits = (
                not checks
                and shape_of(value.type) == shape_of(argument.type)
                and not _reduces(maker, argument)
                and kernel_may_overwrite(maker, value, argument, layout)
            )
        else:
            last_check = max(checks, default=-1)
            fits = last_check < order[maker] and call_may_overwrite(maker, argument)
        if fits and is_last_reader(maker, argument, order):
            planned[value] = argument
    return planned


def _reduces(maker: ir.OpView, argument: ir.Value) -> bool:
    """Whether a kernel with reductions reads the argument."""
    is_read = argument in list(maker.operands)
    return is_read and maker.name == "graph.fusion" and bool(maker.reduced)


def kernel_may_overwrite(
    maker: ir.OpView, value: ir.Value, argument: ir.Value, layout: Layout
) -> bool:
    """Whether a kernel may write a result to where one of its operands lies.

    Args:
        maker: the op that becomes the kernel.
        value: its result.
        argument: what would be overwritten, of as many elements in the same order;
            nothing else reads it any more.
        layout: where that lies.
    """
    if is_accumulated(value):
        return False
    if may_overlap(layout) or any(_is_view_of(v, argument) for v in maker.operands):
        return False
    if argument not in list(maker.operands):
        return True
    return (
        maker.name == "graph.fusion"
        and _reads_in_place(maker, argument, shape_of(value.type))
        and is_written_while_read(maker, value)
    )


def call_may_overwrite(maker: ir.OpView, argument: ir.Value) -> bool:
    """Whether an ATen call has a twin that writes the argument and reads no other."""
    rule = rule_for(maker.name)
    call = None if rule is None else rule(maker)
    if call is None or in_place_call(call) is None:
        return False
    first = call.args[0]
    if not isinstance(first, OperandRef) or maker.operands[first.index] != argument:
        return False
    others = [v for i, v in enumerate(maker.operands) if i != first.index]
    return not any(v == argument or _is_view_of(v, argument) for v in others)


def _writes(
    block: ir.Block, infos: Sequence[ResultInfo]
) -> Iterator[tuple[ir.Value, ir.Value]]:
    arguments = list(block.arguments)
    returned = block.operations[len(block.operations) - 1].operands
    taken = set()
    for value, info in zip(returned, infos, strict=True):
        is_made = isinstance(value, ir.OpResult)
        if info.writes is not None and is_made and value not in taken:
            taken.add(value)
            yield value, arguments[info.writes]


def may_fail(op: ir.OpView) -> bool:
    """Whether the kernel that an op becomes may find an error in its operands."""
    inner = op.regions[0].blocks[0].operations if op.name == "graph.fusion" else [op]
    return any(has(each, MAY_FAIL) and not _is_float_arithmetic(each) for each in inner)


def _is_float_arithmetic(op: ir.OpView) -> bool:
    if has(op, GATHERS):
        return False
    return isinstance(op.operands[0].type.element_type, ir.FloatType)


def may_overlap(layout: Layout) -> bool:
    """Whether two elements may be one; a layout is only known to be without overlap."""
    if layout.is_contiguous:
        return False
    numbers = (*layout.shape, *layout.strides)
    return not all(isinstance(n, int) for n in numbers) or layouts.overlaps(layout)


def is_last_reader(
    maker: ir.OpView, argument: ir.Value, order: Mapping[ir.OpView, int]
) -> bool:
    """Whether nothing after `maker` reads the argument, or a view of it."""
    pending, seen = [argument], set()
    while pending:
        for use in pending.pop().uses:
            op = use.owner.opview
            if op.operation.name == "func.return" or order[op] > order[maker]:
                return False
            if op != maker and op not in seen and _may_be_view(op):
                seen.add(op)
                pending += op.results
    return True


def _may_be_view(op: ir.OpView) -> bool:
    return has(op, MAY_ALIAS)


def _reads_in_place(
    maker: ir.OpView, argument: ir.Value, shape: tuple[Size, ...]
) -> bool:
    """Whether each point of the kernel reads the argument only where it writes.

    Args:
        maker: the op that becomes the kernel.
        argument: what it reads.
        shape: of what it writes there.
    """
    inner = maker.regions[0].blocks[0].arguments
    pairs = zip(maker.operands, inner, strict=True)
    return all(
        is_read_in_place(own, shape) for given, own in pairs if given == argument
    )


def is_read_in_place(value: ir.Value, shape: tuple[Size, ...]) -> bool:
    """Whether what a kernel reads is used at the points of the shape alone."""
    for use in value.uses:
        op = use.owner.opview
        if op.operation.name == "graph.reshape":
            (result,) = op.results
            if shape_of(result.type) != shape or not is_read_in_place(result, shape):
                return False
        elif not (
            op.operation.name == "graph.yield" or has_any(op, ELEMENTWISE, REDUCES)
        ):
            return False
    return True


def is_written_while_read(maker: ir.OpView, value: ir.Value) -> bool:
    """Whether a kernel walks over its domain once, and writes the value on its way.

    What depends on reductions is written in a later walk, which reads again.
    """
    if not maker.reduced:
        return True
    *body, last = maker.regions[0].blocks[0].operations
    rounds: dict[ir.Value, int] = {}
    for op in body:
        before = max((rounds.get(operand, 0) for operand in op.operands), default=0)
        after = before + has(op, REDUCES)
        rounds.update((result, after) for result in op.results)
    full = [v for v in last.operands if shape_of(v.type) == tuple(maker.domain)]
    is_one_walk = max(rounds.values(), default=0) <= 1
    return (
        is_one_walk
        and shape_of(value.type) == tuple(maker.domain)
        and all(rounds.get(v, 0) == 0 for v in full)
    )


def _is_view_of(value: ir.Value, argument: ir.Value) -> bool:
    """Whether ops that may be views make the value from the argument."""
    if not isinstance(value, ir.OpResult):
        return False
    op = value.owner.opview
    return _may_be_view(op) and any(
        operand == argument or _is_view_of(operand, argument) for operand in op.operands
    )
