"""``round-before-jumps``: what decides a jump has 16 bits, where eager's has.

Kernels compute floats of 16 bits in float32, and round them where they store them. So
an op that jumps (``round``, a comparison, a cast to integers, a sort) can give another
whole number than eager's: it gets the operand rounded, but not what that was computed
of. Here each of these values is rounded, too, as eager would have stored it. The scale
of a quantisation is one: ``scale = (high - low) / 255; (x / scale).round()``.

Requires: functions of primitives and library ops (``decompose`` ran), simplified:
``canonicalize-graph`` drops no cast that rounds, but one whose operand is narrow.
Establishes: nothing that a later pass relies on.

Before::

    %0 = "graph.sub"(%high, %low) : (tensor<4x1xf16>, ...) -> tensor<4x1xf16>
    %1 = "graph.div"(%x, %0) : ... -> tensor<4x8xf16>
    %2 = "graph.round"(%1)

After::

    %0 = "graph.sub"(%high, %low)
    %w = "graph.cast"(%0) : (tensor<4x1xf16>) -> tensor<4x1xf32>
    %n = "graph.cast"(%w) : (tensor<4x1xf32>) -> tensor<4x1xf16>
    %1 = "graph.div"(%x, %n)
    ...
    %2 = "graph.round"(...)

It does not go on behind a sum, a product of matrices or another op of a library. The
order of a sum is not eager's, so bits can't be, either; what a library op reads and
returns is stored.

With ``each-op``, all that kernels compute of 16 bits is rounded where eager stores it,
whether an op jumps or not. The option ``emulate_precision_casts`` asks for it: a
compensated sum (Kahan's) keeps in its compensation what the rounding of the sum lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has, has_any, role_of
from girih.dialects.graph.extern import calls_jump
from girih.dialects.traits import (
    ASSEMBLES,
    CHOOSES,
    COMPARES,
    CREATES,
    GATHERS,
    JUMPS,
    KEEPS_DIGITS,
    PASSES_DIGITS,
    REDUCES,
    REINDEXES,
    SCANS,
    VIEW,
    Role,
)
from girih.passes.graph_builder import GraphBuilder, function_bodies
from girih.passes.registry import register_pass

_NARROW = ("bf16", "f16")
# An element of the result is one of the operands', maybe with another sign, or fits.
_EXACT = (
    ASSEMBLES,
    CHOOSES,
    CREATES,
    GATHERS,
    KEEPS_DIGITS,
    PASSES_DIGITS,
    REINDEXES,
    VIEW,
)

_MOST_STEPS = 4


@dataclass(frozen=True)
class RoundOptions:
    """Options of ``round-before-jumps``."""

    each_op: bool = False
    """Whether each result of an op is rounded, not only what decides a jump."""


@register_pass("round-before-jumps", options=RoundOptions)
def run(op: ir.Operation, options: RoundOptions) -> None:
    """Rounds what decides jumps to 16 bits."""
    for block in function_bodies(op):
        operations = list(block.operations)
        if any(_is_narrow(value) for each in operations for value in each.results):
            _round(operations, _all if options.each_op else _deciding)


def _all(operations: Sequence[ir.OpView]) -> set[ir.OpView]:
    """The ops of kernels."""
    return {op for op in operations if role_of(op) is Role.PRIMITIVE}


def _deciding(operations: Sequence[ir.OpView]) -> set[ir.OpView]:
    """The ops of kernels on whose results jumps depend."""
    pending = [x for op in operations if _jumps(op) for x in op.operands]
    deciding: set[ir.OpView] = set()
    while pending:
        value = pending.pop()
        if isinstance(value.owner, ir.Block) or not _is_float(value):
            continue
        op = value.owner.opview
        if op not in deciding and role_of(op) is Role.PRIMITIVE:
            deciding.add(op)
            pending += _decided_by(op)
    return deciding


def _round(
    operations: Sequence[ir.OpView],
    choose: Callable[[Sequence[ir.OpView]], set[ir.OpView]],
) -> None:
    """Rounds the results of the ops that are chosen."""
    deciding = choose(operations)
    # An op whose operand is replaced is another key, so all are chosen before.
    chosen = [
        (value, before)
        for op, before in pairwise(operations)
        if op in deciding and not has_any(op, *_EXACT) and _is_computed_with(op)
        for value in filter(_is_narrow, op.results)
    ]
    for value, before in chosen:
        _round_value(value, before)


def _jumps(op: ir.OpView) -> bool:
    if op.operation.name == "graph.extern":
        return calls_jump(op.op)
    if op.operation.name == "graph.cast" and _is_float(op.y):
        return ty.byte_width(op.y.type.element_type) == 1  # a step of float8 is large
    return has(op, JUMPS) and not _only_bends(op)


def _only_bends(op: ir.OpView) -> bool:
    """Whether a comparison with 0 chooses between values that are 0 there.

    As in ``leaky_relu`` and ``elu``: what is computed of them bends and does not jump.
    The slope of ``relu`` jumps, where the function has none.
    """
    if not has(op, COMPARES) or GraphBuilder(op).number(op.rhs) != 0:
        return False
    readers = [use.owner.opview for use in op.results[0].uses]
    if not readers or any(each.operation.name != "graph.where" for each in readers):
        return False
    is_slope = GraphBuilder(op).producer(op.lhs, "relu") is not None
    return is_slope or all(
        _vanishes(value, op.lhs) for each in readers for value in (each.a, each.b)
    )


def _vanishes(value: ir.Value, x: ir.Value) -> bool:
    """Whether a value is 0 where ``x`` is, as far as one operand shows it."""
    for _ in range(_MOST_STEPS):
        if value == x or isinstance(value.owner, ir.Block):
            return value == x
        op = value.owner.opview
        alone = [names[0] for names in getattr(op, "ZERO_IF", ()) if len(names) == 1]
        computed = [getattr(op, name) for name in alone]
        computed = [v for v in computed if GraphBuilder(op).number(v) is None]
        if len(computed) != 1:
            return False
        (value,) = computed
    return False


def _decided_by(op: ir.OpView) -> Iterator[ir.Value]:
    """The operands that decide in turn: not the terms of a sum."""
    is_sum = has_any(op, REDUCES, SCANS) and not has(op, CHOOSES)
    return iter(() if is_sum else op.operands)


def _is_computed_with(op: ir.OpView) -> bool:
    """Whether an op has readers in kernels that don't round it themselves."""
    readers = (use.owner.opview for value in op.results for use in value.uses)
    return any(role_of(each) is Role.PRIMITIVE and not _jumps(each) for each in readers)


def _round_value(value: ir.Value, before: ir.OpView) -> None:
    """Has all that reads a value read it rounded."""
    b = GraphBuilder(before)
    b.loc = value.owner.location
    element = value.type.element_type
    wide = b.cast(value, ir.F32Type.get())
    rounded = b.cast(wide, element)
    value.replace_all_uses_except(rounded, wide.owner.operation)


def _is_narrow(value: ir.Value) -> bool:
    return _is_float(value) and str(value.type.element_type) in _NARROW


def _is_float(value: ir.Value) -> bool:
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return is_tensor and ty.is_float(value.type.element_type)
