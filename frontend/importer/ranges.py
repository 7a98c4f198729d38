"""Between which numbers the integers of a value lie, as far as that can be told.

Eager looks at every index that a program gives; where the index is arithmetic on
counters and constants, it is known beforehand that it finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from girih.dialects import types as ty
from girih.dialects.bindings import ir

Range = tuple[int, int]

_ANY = (-(2**63), 2**63 - 1)

# These hold elements of their operand, and no other ones.
_VIEWS = frozenset(
    f"graph.{name}"
    for name in ("broadcast_to", "flip", "permute", "reshape", "slice", "window")
)


def range_of(value: ir.Value) -> Range | None:
    """The smallest and the largest number that an int64 value may hold, if known."""
    owner = value.owner
    if isinstance(owner, ir.Block) or str(value.type.element_type) != "i64":
        return None
    op = owner.opview
    if op.operation.name in _VIEWS:
        return range_of(op.operands[0])
    rule = _RULES.get(op.operation.name)
    return None if rule is None else _fitting(rule(op))


def _fitting(limits: Range | None) -> Range | None:
    """None for what may wrap around."""
    if limits is None or limits[0] < -(2**63) or limits[1] >= 2**63:
        return None
    return limits


def is_within(value: ir.Value, low: int, high: int) -> bool:
    """Whether all numbers of a value are known to be ``low <= number < high``."""
    limits = range_of(value)
    return limits is not None and low <= limits[0] and limits[1] < high


def _of_constant(op) -> Range | None:
    return (op.value, op.value) if isinstance(op.value, int) else None


def _of_iota(op) -> Range | None:
    (count,) = ty.shape_of(op.results[0].type)
    if not all(isinstance(n, int) for n in (count, op.start, op.step)) or count == 0:
        return None
    last = op.start + (count - 1) * op.step
    return min(op.start, last), max(op.start, last)


def _arithmetic(rule: Callable[[Sequence[Range]], Range]) -> Callable:
    """The rule of an operation on ranges of its operands."""

    def apply(op) -> Range | None:
        ranges = [range_of(operand) for operand in op.operands]
        return None if None in ranges else rule(*ranges)

    return apply


def _bounded(pick: Callable) -> Callable:
    """The smaller or larger of two: one operand alone bounds it on one side."""

    def apply(op) -> Range | None:
        ends = [range_of(operand) or _ANY for operand in op.operands]
        return tuple(pick(*pair) for pair in zip(*ends, strict=True))

    return apply


def _of_clamp(op) -> Range | None:
    """As of ``min(max(x, low), high)``."""
    limits = range_of(op.x) or _ANY
    for bound, pick in ((op.low, max), (op.high, min)):
        if bound is not None:
            ends = zip(limits, range_of(bound) or _ANY, strict=True)
            limits = tuple(pick(*pair) for pair in ends)
    return limits


def _absolute(limits: Range) -> Range:
    low, high = limits
    return max(low, -high, 0), max(-low, high)


_RULES = {
    "graph.abs": _arithmetic(_absolute),
    "graph.add": _arithmetic(lambda a, b: (a[0] + b[0], a[1] + b[1])),
    "graph.clamp": _of_clamp,
    "graph.constant": _of_constant,
    "graph.iota": _of_iota,
    "graph.maximum": _bounded(max),
    "graph.minimum": _bounded(min),
    "graph.neg": _arithmetic(lambda a: (-a[1], -a[0])),
    "graph.sub": _arithmetic(lambda a, b: (a[0] - b[1], a[1] - b[0])),
}
