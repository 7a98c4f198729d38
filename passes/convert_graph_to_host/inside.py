"""In which order a fusion's result is made, by the tensors that it is made of.

A joined, padded or pooled image has another shape than those it is made of. Where it
lies in their order, the kernel reads and writes along the same dim.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.traits import ELEMENTWISE, REDUCES
from girih.dialects.types import shape_of

from . import layout as layouts
from .layout import Layout

Views = Mapping[str, Callable[[ir.OpView, Layout], Layout | None]]


def layouts_inside(
    fusion: ir.OpView, index: int, given: Mapping[ir.Value, Layout], views: Views
) -> list[Layout]:
    """Dense layouts like those in which a result's points are read, without repeats.

    Args:
        fusion: The fusion.
        index: Which of its results.
        given: The layouts of its operands.
        views: What makes the layout of a view, by the name of the op.
    """
    block = fusion.regions[0].blocks[0]
    pairs = zip(block.arguments, fusion.operands, strict=True)
    known = {inner: given[outer] for inner, outer in pairs}
    *ops, last = block.operations
    found: dict[ir.Value, list[Layout]] = {v: [own] for v, own in known.items()}
    for op in ops:
        if len(op.results) == 1:
            found[op.results[0]] = _layouts_of(op, found, views)
    shape = shape_of(fusion.results[index].type)
    made = found.get(last.operands[index], [])
    dense = [layouts.dense_like(shape, own.strides) for own in made]
    return list(dict.fromkeys(own for own in dense if own is not None))


def _layouts_of(
    op: ir.OpView, found: Mapping[ir.Value, list[Layout]], views: Views
) -> list[Layout]:
    shape = shape_of(op.results[0].type)
    if (view := views.get(op.name)) is not None:
        own = found.get(op.operands[0], [])
        return [made for each in own if (made := view(op, each)) is not None]
    if op.name == "graph.pad" or has(op, REDUCES):
        # The dims stay where they are; their sizes do not matter for the order.
        return [
            Layout(shape, each.strides)
            for each in found.get(op.operands[0], [])
            if len(each.shape) == len(shape)
        ]
    if not has(op, ELEMENTWISE):
        return []
    full = [value for value in op.operands if shape_of(value.type) == shape]
    return [each for value in full for each in found.get(value, [])]
