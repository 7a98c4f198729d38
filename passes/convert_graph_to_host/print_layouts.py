"""print-layouts: prints where each tensor of a graph function lies.

A test pass: one line for each value that an op makes, in order, on stdout::

    %1 = graph.permute: view of %0, shape [8, 4], strides [1, 8], offset 0

It changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects.bindings import ir
from girih.dialects.dims import Size
from girih.passes.registry import register_pass

from .plan import LayoutPlan, Place, plan_layouts
from .prepare import prepare


def layout_lines(plan: LayoutPlan) -> list[str]:
    """One line for each result of each op of the planned function."""
    return [
        f"{_name(result)} = {op.name}: {_describe(result, plan.places[result], step)}"
        for op, step in plan.steps
        for result in op.results
    ]


def _name(value: ir.Value) -> str:
    return value.get_name()


def _describe(value: ir.Value, place: Place, step: object) -> str:
    layout = place.layout
    owner = step.value if place.root == value else f"view of {_name(place.root)}"
    shape, strides = _list(layout.shape), _list(layout.strides)
    return f"{owner}, shape {shape}, strides {strides}, offset {layout.offset}"


def _list(sizes: Sequence[Size]) -> str:
    return f"[{', '.join(map(str, sizes))}]"


def _lines_of_copy(function: ir.OpView) -> list[str]:
    """The lines of a function as it is when its layouts are planned."""
    copy = function.operation.clone(ip=ir.InsertionPoint(function)).opview
    try:
        prepare(copy)
        return layout_lines(plan_layouts(copy))
    finally:
        copy.operation.erase()


@register_pass("print-layouts")
def run(op: ir.OpView, options: None) -> None:
    """Prints where each tensor of a graph function lies."""
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name == "func.func":
            print(*_lines_of_copy(function), sep="\n")
