"""Vectors whose lanes lie 2 to 8 elements apart, without gathers.

The span of memory is read by contiguous windows, the last of which ends with the last
lane, so nothing outside of the span is touched; a shuffle picks the lanes from each.
16 floats copied at stride 2 took 2.4 ns, with a gather 5.6; at 4, 4.1 and 5.9 (Zen 5,
2026-11-20). Sums of 75 k floats at stride 7 take 29 us, with gathers 42 (Zen 4,
2026-11-24). Where lanes are masked, a window's load has a mask too, with the elements
between the lanes unset: a maximum over windows of 2 x 2 in rows of 56, whose steps have
28 of 32 lanes, takes 0.2 ns a result, with gathers 3 (AVX2, 2026-11-26).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_cpu import builder as b

Value = ir.Value

_MAX_STEP = 8
_MAX_LANES = 16


@dataclass(frozen=True)
class Window:
    """A contiguous piece of the span.

    Attributes:
        start: its first element, counted from lane 0.
        lanes: position in the window for each lane found in it.
    """

    start: int
    lanes: dict[int, int]


def lanes_together(type: ir.VectorType) -> int:
    """How many lanes are read together: longer vectors are read in such parts."""
    return min(type.shape[0], _MAX_LANES)


def is_supported(step: int | None, type: ir.VectorType) -> bool:
    """Whether windows are better than a gather."""
    parts, rest = divmod(type.shape[0], lanes_together(type))
    if rest or parts & (parts - 1):
        return False  # the parts are joined two by two
    if type.shape[0] > _MAX_LANES and type.element_type.width == 8:
        # LLVM may join the parts' shuffles to one VPERMB, and then simplify its
        # constant for ever (see `access._MAX_TURNED_BYTES`).
        return False
    return step is not None and 2 <= step <= _MAX_STEP


def windows(step: int, lanes: int) -> list[Window]:
    """The windows of a span, each lane in one of them."""
    span = (lanes - 1) * step + 1
    result = []
    for first in range(0, span, lanes):
        start = max(min(first, span - lanes), 0)
        held = {
            lane: lane * step - start
            for lane in range(lanes)
            if first <= lane * step < first + lanes
        }
        result.append(Window(start, held))
    return result


def load(type: ir.VectorType, step: int, load_at: Callable[[Window], Value]) -> Value:
    """The lanes, from windows that `load_at(window)` reads."""
    lanes = type.shape[0]
    parts = windows(step, lanes)
    result = load_at(parts[0])
    order = [parts[0].lanes.get(lane, 0) for lane in range(lanes)]
    for part in parts[1:]:
        order = [
            lanes + part.lanes[lane] if lane in part.lanes else order[lane]
            for lane in range(lanes)
        ]
        result = _shuffle(type, result, load_at(part), order)
        order = list(range(lanes))
    return result


def _shuffle(type: ir.VectorType, lhs: Value, rhs: Value, order: list[int]) -> Value:
    mask = {"mask": ir.DenseI64ArrayAttr.get(order)}
    return b.value("vector.shuffle", type, [lhs, rhs], mask)
