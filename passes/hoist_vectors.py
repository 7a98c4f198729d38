"""``hoist-vectors``: what a kernel would compute for each row is a fusion before it.

``fuse`` takes what is constant along the innermost dims of a domain for free: loops
compute it once for all of them. But a kernel goes along the dim that lies innermost in
memory. For an image with its channels innermost that is the dim of the channels, and
the root and the division of a batch norm would be computed anew for each pixel.

Requires: fusions as ``fuse`` leaves them; views between them as ``prepare`` takes them.
Establishes: with ``target=cpu``, no fusion computes a division, a root or a function
of elements that vary along the innermost dim of its first result, where that has at
least 16 times as many elements and at least 16384, and sizes are known. Otherwise
nothing changes.

Before::

    %0 = "graph.fusion"(%x, %v) ({ %r = graph.rsqrt %v : tensor<1x96x1x1xf32>; ... })
        {domain = [1, 96, 56, 56]}

After::

    %r = "graph.fusion"(%v) ({ %1 = graph.rsqrt %v; graph.yield %1 })
        {domain = [1, 96, 1, 1]}
    %0 = "graph.fusion"(%x, %r) ({ ... }) {domain = [1, 96, 56, 56]}

2026-11-28, AVX-512, one thread: a batch norm and ReLU of 1 x 256 x 56 x 56 with the
channels innermost took 232 us, and 84 with the numbers of the channels given; behind a
convolution of one pixel from 16 to 96 channels of 56 x 56 it added 63 us to 97.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import OPS, has, has_any
from girih.dialects.dims import Dim
from girih.dialects.traits import ELEMENTWISE, VIEW, Cost
from girih.passes.convert_graph_to_host.layout import Layout
from girih.passes.convert_graph_to_host.plan import plan_layouts
from girih.passes.convert_graph_to_host.prepare import prepare
from girih.passes.graph_builder import (
    GraphBuilder,
    copy_ops,
    erase_dead_ops,
    made_of,
    make_fusion,
)
from girih.passes.registry import register_pass

_FEWEST_POINTS = 1 << 14
_FEWEST_TIMES = 16
_NUMBER = "girih.number"


@dataclass(frozen=True)
class HoistOptions:
    """Options of the pass."""

    target: str = ""
    """``cpu``, or nothing for no change."""


@register_pass("hoist-vectors", options=HoistOptions)
def run(op: ir.Operation, options: HoistOptions) -> None:
    """Computes before a kernel what it would compute for each row."""
    if options.target != "cpu":
        return
    for function in list(op.regions[0].blocks[0].operations):
        if function.operation.name == "func.func" and len(function.regions[0].blocks):
            _hoist_in(function)


def _hoist_in(function: ir.OpView) -> None:
    found: list[tuple[ir.OpView, list[ir.Value]]] = []
    for op in function.regions[0].blocks[0].operations:
        if op.operation.name == "graph.fusion":
            values = _few_but_expensive(op)
            if values:
                found.append((op, values))
    if not found:
        return
    layouts = _layouts_of(function, [fusion for fusion, _ in found])
    for (fusion, values), layout in zip(found, layouts, strict=True):
        dim = _innermost(layout)
        along = [v for v in values if dim is not None and _varies(v, dim, layout)]
        if along:
            _hoist(fusion, along)


def _few_but_expensive(fusion: ir.OpView) -> list[ir.Value]:
    """Values of few elements that take expensive ops, and that others read."""
    domain, shape = tuple(fusion.domain), _shape(fusion.results[0])
    if fusion.closing or any(isinstance(size, Dim) for size in domain):
        return []
    reduced = tuple(1 if n in fusion.reduced else size for n, size in enumerate(domain))
    points = prod(shape)
    if points < _FEWEST_POINTS or shape not in (domain, reduced):
        return []
    block = fusion.regions[0].blocks[0]
    *ops, last = block.operations
    is_costly: dict[ir.Value, bool] = {}
    for value in block.arguments:
        if _is_few(value, points):
            is_costly[value] = False
    for op in ops:
        if not _stays_few(op, is_costly, points):
            continue
        before = any(is_costly.get(value, False) for value in op.operands)
        own = has(op, ELEMENTWISE) and op.COST is not Cost.CHEAP
        is_costly[op.results[0]] = (own or before) and len(op.operands) > 0
    return [
        value
        for value, is_one in is_costly.items()
        if is_one and _is_read_by_others(value, is_costly, last)
    ]


def _is_few(value: ir.Value, points: int) -> bool:
    shape = _shape(value)
    is_known = not any(isinstance(size, Dim) for size in shape)
    return is_known and prod(shape) * _FEWEST_TIMES <= points


def _stays_few(op: ir.OpView, few: Iterable[ir.Value], points: int) -> bool:
    """Whether an op computes few elements of few ones, wherever it stands."""
    if len(op.results) != 1 or not _is_few(op.results[0], points):
        return False
    if not len(op.operands):
        return op.operation.name in ("graph.constant", "graph.iota", "graph.full")
    return has_any(op, ELEMENTWISE, VIEW) and all(value in few for value in op.operands)


def _is_read_by_others(
    value: ir.Value, few: Iterable[ir.Value], last: ir.OpView
) -> bool:
    users = [use.owner.opview for use in value.uses]
    return last not in users and any(user.results[0] not in few for user in users)


def _layouts_of(function: ir.OpView, fusions: Sequence[ir.OpView]) -> list[Layout]:
    """Where the first results of fusions will lie."""
    for number, fusion in enumerate(fusions):
        fusion.attributes[_NUMBER] = ir.IntegerAttr.get(
            ir.IntegerType.get_signless(64), number
        )
    copy = function.operation.clone(ip=ir.InsertionPoint(function)).opview
    for fusion in fusions:
        del fusion.attributes[_NUMBER]
    try:
        prepare(copy)
        plan = plan_layouts(copy, reuse_buffers=True)
        found: dict[int, Layout] = {}
        for op, _ in plan.steps:
            if _NUMBER in op.attributes:
                number = op.attributes[_NUMBER].value
                found[number] = plan.places[op.results[0]].layout
        return [found[number] for number in range(len(fusions))]
    finally:
        copy.operation.erase()


def _innermost(layout: Layout) -> int | None:
    """The dim along which elements lie one after another."""
    dims = zip(layout.shape, layout.strides, strict=True)
    found = [n for n, (size, stride) in enumerate(dims) if stride == 1 and size != 1]
    return found[-1] if found else None


def _varies(value: ir.Value, dim: int, layout: Layout) -> bool:
    """Whether a value, which broadcasts to a result, varies along a dim of that."""
    own = _shape(value)
    place = dim - (len(layout.shape) - len(own))
    return place >= 0 and own[place] != 1


# The rewrite ------------------------------------------------------------------------


def _hoist(fusion: ir.OpView, values: Sequence[ir.Value]) -> None:
    """Makes fusions of the values, one for each shape, and has the other read them."""
    block = fusion.regions[0].blocks[0]
    shapes = list(dict.fromkeys(map(_shape, values)))
    given = {
        shape: [value for value in values if _shape(value) == shape] for shape in shapes
    }
    inputs = list(fusion.operands)
    for shape, group in given.items():
        made = _fusion_of(fusion, group, shape)
        for value, result in zip(group, made.results, strict=True):
            argument = block.add_argument(value.type, value.owner.location)
            value.replace_all_uses_with(argument)
            inputs.append(result)
    erase_dead_ops(block)
    _with_inputs(fusion, inputs)


def _fusion_of(
    fusion: ir.OpView, values: Sequence[ir.Value], shape: tuple[int, ...]
) -> ir.OpView:
    """A fusion that yields copies of values of another one."""
    needed = made_of(values)
    holder = ir.Operation.create(
        "graph.fusion",
        regions=1,
        loc=fusion.location,
        ip=ir.InsertionPoint(fusion),
    )
    body, copies = holder.regions[0].blocks.append(), {}
    block, inputs = fusion.regions[0].blocks[0], []
    for argument, operand in zip(block.arguments, fusion.operands, strict=True):
        if argument in needed:
            copies[argument] = body.add_argument(argument.type, fusion.location)
            inputs.append(operand)
    copy_ops(block, needed, copies, ir.InsertionPoint(body))
    attributes = {"domain": shape, "reduced": ()}
    yielded = [copies[value] for value in values]
    return make_fusion(holder, inputs, yielded, attributes, fusion)


def _with_inputs(fusion: ir.OpView, inputs: Sequence[ir.Value]) -> None:
    """Puts a fusion in the place of one whose block has other arguments."""
    block = fusion.regions[0].blocks[0]
    kept = [n for n, a in enumerate(block.arguments) if len(list(a.uses))]
    for number in reversed(range(len(block.arguments))):
        if number not in kept:
            block.erase_argument(number)
    made = OPS["graph.fusion"].build(
        [[inputs[number] for number in kept]],
        {"domain": tuple(fusion.domain), "reduced": tuple(fusion.reduced)},
        results=[value.type for value in fusion.results],
        loc=fusion.location,
        ip=ir.InsertionPoint(fusion),
    )
    for number in range(len(fusion.attributes)):
        name = fusion.attributes[number].name
        made.attributes[name] = fusion.attributes[name]
    block.append_to(made.regions[0])
    GraphBuilder(fusion).replace(fusion, *made.results)


def _shape(value: ir.Value) -> tuple:
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return tuple(ty.shape_of(value.type)) if is_tensor else ()
