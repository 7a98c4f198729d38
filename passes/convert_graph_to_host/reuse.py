"""What writes into a buffer of the program's own that nothing reads any more.

``aten.index_add`` copies its first operand and adds to the copy. Where a kernel made
that operand, and nothing reads it later, the in-place twin of the op writes it: of a
gradient that is zeros but for few rows, two copies and an allocation are saved.

A kernel that reads such a buffer point by point writes a result there: one tensor less
is alive, and less memory is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import product
from girih.dialects.types import element_of

from . import layout as layouts
from .externs import in_place_call, rule_for
from .in_place import call_may_overwrite, is_last_reader, kernel_may_overwrite
from .layout import Layout


def reused_operand(
    op: ir.OpView,
    is_own: Callable[[ir.Value], bool],
    order: Mapping[ir.OpView, int],
) -> ir.Value | None:
    """The operand of an ATen call that the call may overwrite with its result.

    Args:
        op: the graph op that becomes the call.
        is_own: whether a kernel of this program made a value, as all of a buffer.
        order: the position of each op of the function.
    """
    value = written_operand(op)
    if value is None or value.type != op.results[0].type or not is_own(value):
        return None
    fits = call_may_overwrite(op, value) and is_last_reader(op, value, order)
    return value if fits else None


def overwritten_by_kernel(
    op: ir.OpView,
    result: ir.Value,
    layout: Layout,
    own: Mapping[ir.Value, Layout],
    order: Mapping[ir.OpView, int],
) -> ir.Value | None:
    """The operand of a kernel whose place a result of it may take.

    Args:
        op: the graph op that becomes the kernel.
        result: one of its results.
        layout: how that would lie in a buffer of its own.
        own: where those operands lie that this program made, as all of a buffer.
        order: the position of each op of the function.
    """
    for value in op.operands:
        if (
            value in own
            and element_of(value.type) == element_of(result.type)
            and _is_laid_out_as(own[value], layout)
            and is_last_reader(op, value, order)
            and kernel_may_overwrite(op, result, value, own[value])
        ):
            return value
    return None


def _is_laid_out_as(actual: Layout, wanted: Layout) -> bool:
    """Whether the same elements lie at the same places, in the same order."""
    if product(actual.shape) != product(wanted.shape):
        return False
    seen = layouts.reshape(actual, wanted.shape)
    return seen is not None and layouts.same_strides(
        wanted.shape, seen.strides, wanted.strides
    )


def written_operand(op: ir.OpView) -> ir.Value | None:
    """The operand that the in-place twin of an ATen call writes, if it has one."""
    rule = rule_for(op.operation.name)
    if rule is None or len(op.results) != 1:
        return None
    call = rule(op)
    if in_place_call(call) is None or not isinstance(call.args[0], OperandRef):
        return None
    return op.operands[call.args[0].index]
