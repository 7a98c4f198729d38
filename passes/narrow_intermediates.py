"""``narrow-intermediates``: fusions hand over narrow values, not what is made of them.

``fuse`` puts an op beside what it reads, so a fusion may store the float32 that it has
cast a bfloat16 to, or an absolute value beside the value itself. Such an op costs less
than the bytes that it adds: here the fusions that read its result compute it.

Requires: fusions as ``fuse`` leaves them.
Establishes: no fusion yields, for other fusions alone, what casts to a wider type,
``abs``, ``neg`` and the like make of a value that is narrower, or that it yields too.

Before::

    %0:2 = "graph.fusion"(%x) ({ %y = ...; %w = graph.cast %y; %a = graph.abs %w;
        graph.yield %w, %a }) : ... -> (tensor<8xf32>, tensor<8xf32>)
    %1 = "graph.fusion"(%0#0, %0#1) ({^bb0(%w, %a): ...})

After::

    %0 = "graph.fusion"(%x) ({ %y = ...; graph.yield %y }) : ... -> tensor<8xbf16>
    %1 = "graph.fusion"(%0, %0) ({^bb0(%y, %z): %w = graph.cast %y;
        %v = graph.cast %z; %a = graph.abs %v; ...})

It computes nothing that it did not: casts to a wider type are exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, has, has_any
from girih.dialects.traits import (
    ELEMENTWISE,
    KEEPS_DIGITS,
    PASSES_DIGITS,
    REDUCES,
    VIEW,
)
from girih.passes.choices import ChoiceOptions, Choices, place_text
from girih.passes.graph_builder import erase_dead_ops, function_bodies, yield_from
from girih.passes.registry import register_pass

_MOST_STEPS = 3

Steps = tuple[ir.OpView, ...]
"""Ops of the fusion that yields, in the order in which others compute them."""


@dataclass(frozen=True)
class NarrowOptions(ChoiceOptions):
    """Options of ``narrow-intermediates``."""


@register_pass("narrow-intermediates", options=NarrowOptions)
def run(op: ir.Operation, options: NarrowOptions) -> None:
    """Has fusions compute what others would hand over wider than need be."""
    choices = Choices(options)
    for block in function_bodies(op):
        for fusion in list(block.operations):
            if fusion.operation.name == "graph.fusion":
                _narrow(fusion, choices)


def _narrow(fusion: ir.OpView, choices: Choices) -> None:
    """Narrows what one fusion yields."""
    block = fusion.regions[0].blocks[0]
    *_, last = block.operations
    plans = _plans(list(last.operands), list(fusion.results), choices)
    if not any(steps for _, steps in plans):
        return
    kept = list(dict.fromkeys(source for source, _ in plans))
    narrowed = yield_from(fusion, kept)
    for (source, steps), old in zip(plans, fusion.results, strict=True):
        new = narrowed.results[kept.index(source)]
        places = [(use.owner.opview, use.operand_number) for use in old.uses]
        old.replace_all_uses_with(new)
        if steps:
            for user, number in places:
                _compute_in(user, number, new.type.element_type, steps)
    fusion.operation.erase()
    erase_dead_ops(narrowed.regions[0].blocks[0])


def _plans(
    values: Sequence[ir.Value], results: Sequence[ir.Value], choices: Choices
) -> list[tuple[ir.Value, Steps]]:
    """For each result what to yield in its place, and what is computed of that."""
    plans: list[tuple[ir.Value, Steps]] = []
    for value, result in zip(values, results, strict=True):
        source, steps = value, ()
        if _is_handed_over(result):
            source, steps = _source(value, values)
        plans.append((source, steps))
    # What was narrowed may be the only one that still needs a value to be yielded.
    yielded = [source for source, steps in plans if not steps]
    return [
        (source, steps)
        if _is_gain(value, source, yielded) and _is_chosen(value, steps, choices)
        else (value, ())
        for value, (source, steps) in zip(values, plans, strict=True)
    ]


def _is_chosen(value: ir.Value, steps: Steps, choices: Choices) -> bool:
    """Whether readers compute the steps, if there are any."""
    if not steps:
        return True
    op = value.owner.opview
    name = op.operation.name.removeprefix("graph.")
    return choices.takes(
        lambda: f"narrow-intermediates: {name} in its readers{place_text(op.location)}"
    )


def _source(value: ir.Value, values: Sequence[ir.Value]) -> tuple[ir.Value, Steps]:
    """The narrowest of the values that cheap ops make a value of."""
    best, steps = (value, ()), ()
    for at in _chain(value):
        steps = (at.owner.opview, *steps)
        below = at.owner.operands[0]
        width = ty.byte_width(below.type.element_type)
        least = ty.byte_width(best[0].type.element_type)
        if width < least or (width == least and below in values):
            best = below, steps
    return best


def _chain(value: ir.Value) -> Iterator[ir.Value]:
    """The value, and what it is made of, as long as the ops are cheap and exact."""
    for _ in range(_MOST_STEPS):
        if isinstance(value.owner, ir.Block) or not _is_exact(value.owner.opview):
            return
        yield value
        value = value.owner.operands[0]


def _is_exact(op: ir.OpView) -> bool:
    """Whether an op is cheap, and another fusion would compute the same."""
    is_arithmetic = has(op, ELEMENTWISE) and len(op.operands) == 1
    if not (is_arithmetic and has_any(op, KEEPS_DIGITS, PASSES_DIGITS)):
        return False
    if op.operation.name != "graph.cast":
        return True
    source, target = op.operands[0].type.element_type, op.results[0].type.element_type
    both = ty.is_float(source) and ty.is_float(target)
    return both and ty.byte_width(source) < ty.byte_width(target)


def _is_gain(value: ir.Value, source: ir.Value, yielded: Sequence[ir.Value]) -> bool:
    """Whether the source is narrower, or is yielded all the same."""
    own, least = (ty.byte_width(v.type.element_type) for v in (value, source))
    return least < own or source in yielded


# Who reads a result -------------------------------------------------------------------


def _is_handed_over(value: ir.Value) -> bool:
    """Whether fusions alone read a value, or views of it, as arithmetic does."""
    uses = list(value.uses)
    return bool(uses) and all(
        _is_read_by_arithmetic(use.owner.opview, use.operand_number) for use in uses
    )


def _is_read_by_arithmetic(user: ir.OpView, number: int) -> bool:
    if user.operation.name == "graph.fusion":
        return _is_anchored(user.regions[0].blocks[0].arguments[number])
    return _is_view(user) and _is_handed_over(user.results[0])


def _is_anchored(value: ir.Value) -> bool:
    """Whether only arithmetic at the points of the domain, or sums, read a value."""
    users = [use.owner.opview for use in value.uses]
    return all(
        _is_anchored(user.results[0])
        if _is_view(user)
        else has_any(user, ELEMENTWISE, REDUCES)
        for user in users
    )


def _is_view(op: ir.OpView) -> bool:
    return has(op, VIEW) and len(op.operands) == 1


# The rewrite --------------------------------------------------------------------------


def _compute_in(user: ir.OpView, number: int, element: ir.Type, steps: Steps) -> None:
    """Has a reader of a narrowed value compute what it read."""
    if user.operation.name == "graph.fusion":
        block = user.regions[0].blocks[0]
        _retype(block.arguments[number], element)
        start = list(block.operations)[0]
        _compute_after(block.arguments[number], start, steps)
        return
    result = user.results[0]
    places = [(use.owner.opview, use.operand_number) for use in result.uses]
    _retype(result, element)
    for reader, place in places:
        _compute_in(reader, place, element, steps)


def _compute_after(value: ir.Value, place: ir.OpView, steps: Steps) -> None:
    """Computes the steps of a value of a fusion's body, behind the views of it.

    Args:
        value: narrow by now; its readers expect what the steps make of it.
        place: the op before which the first step stands.
        steps: ops to repeat.
    """
    uses = [(use.owner.opview, use.operand_number) for use in value.uses]
    views = [user for user, _ in uses if _is_view(user)]
    for view in views:
        _retype(view.results[0], value.type.element_type)
        following = _next(view)
        _compute_after(view.results[0], following, steps)
    others = [(user, number) for user, number in uses if user not in views]
    if not others:
        return
    made = value
    for step in steps:
        type_ = ty.tensor_type(
            ty.shape_of(value.type), step.results[0].type.element_type
        )
        made = (
            OPS[step.operation.name]
            .build(
                [made], results=[type_], loc=step.location, ip=ir.InsertionPoint(place)
            )
            .results[0]
        )
    for user, number in others:
        user.operation.operands[number] = made


def _next(op: ir.OpView) -> ir.OpView:
    ops = list(op.operation.block.operations)
    return ops[ops.index(op) + 1]


def _retype(value: ir.Value, element: ir.Type) -> None:
    value.set_type(ty.tensor_type(ty.shape_of(value.type), element))
