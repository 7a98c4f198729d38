"""``sink-permutes``: arithmetic on turned tensors runs in the order that they lie in.

A convolution of pixels is a product whose rows are pixels; its result is permuted to
the order of images, channels first. What follows (a bias, an activation, a residual
sum) would store it in that order, across memory, and the next convolution would turn it
back. Here such arithmetic goes before the permutation, where something behind it takes
the permutation back, or calls a library with channels innermost. So the channels of a
whole network stay innermost from the first convolution to the last.

Requires: functions of primitives and library ops (``decompose`` ran).
Establishes: with ``target=cpu``, no elementwise op reads permuted tensors, if what
reads its result permutes it back, and its other operands are permuted in the same way
or have at most one dim whose size moves. Otherwise nothing changes.

Before::

    %0 = "graph.permute"(%x) {permutation = array<i64: 0, 3, 1, 2>}
    %1 = "graph.add"(%0, %bias) : (tensor<1x8x5x5xf32>, tensor<8x1x1xf32>) -> ...
    %2 = "graph.permute"(%1) {permutation = array<i64: 0, 2, 3, 1>}

After::

    %b = "graph.reshape"(%bias) : (tensor<8x1x1xf32>) -> tensor<1x1x1x8xf32>
    %1 = "graph.add"(%x, %b)
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import attributes as attr
from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Dim, Size
from girih.dialects.traits import ELEMENTWISE
from girih.passes.choose_convolution_layouts import channels_innermost
from girih.passes.graph_builder import GraphBuilder, erase_dead_ops, function_bodies
from girih.passes.registry import register_pass

Order = tuple[int, ...]

_PERMUTE = "graph.permute"
_CHANNELS_FIRST = (0, 3, 1, 2)
_CHANNELS_LAST = (0, 2, 3, 1)


@dataclass(frozen=True)
class SinkOptions:
    """Options of the pass."""

    target: str = ""
    """``cpu``, or nothing for no change."""


@register_pass("sink-permutes", options=SinkOptions)
def run(op: ir.Operation, options: SinkOptions) -> None:
    """Moves arithmetic before permutations that are taken back behind it."""
    if options.target != "cpu":
        return
    for block in function_bodies(op):
        operations = list(block.operations)
        if not any(each.operation.name == _PERMUTE for each in operations):
            continue
        wanted = _wanted(operations)
        moved = [each for each in operations if _is_elementwise(each)]
        if any([_sink(each, wanted[each.results[0]]) for each in moved]):
            erase_dead_ops(block)


def _is_elementwise(op: ir.OpView) -> bool:
    is_one = len(op.results) == 1 and has(op, ELEMENTWISE)
    return is_one and len(_shape(op.results[0])) > 1


def _wanted(operations: list[ir.OpView]) -> dict[ir.Value, frozenset[Order]]:
    """Into which orders values are permuted, by what reads them or what is made of it.

    Args:
        operations: Of a block.
    """
    wanted: dict[ir.Value, frozenset[Order]] = {}
    for op in reversed(operations):
        for result in op.results:
            orders: frozenset[Order] = frozenset()
            for use in result.uses:
                orders |= _wanted_by(use.owner.opview, use.operand_number, wanted)
            wanted[result] = orders
    return wanted


def _wanted_by(
    user: ir.OpView, number: int, wanted: dict[ir.Value, frozenset[Order]]
) -> frozenset[Order]:
    if user.operation.name == _PERMUTE:
        return frozenset([tuple(user.permutation)])
    if "operand_strides" in user.attributes:
        value = user.operation.operands[number]
        strides = attr.LAYOUTS.decode(user.attributes["operand_strides"])
        is_known = number < len(strides) and _has_channels_last(value, strides[number])
        return frozenset([_CHANNELS_LAST]) if is_known else frozenset()
    if _is_elementwise(user):
        result = user.results[0]
        same = _shape(result) == _shape(user.operation.operands[number])
        return wanted[result] if same else frozenset()
    return frozenset()


def _sink(op: ir.OpView, wanted: frozenset[Order]) -> bool:
    """Moves an op before the permutation of its operands; says whether it does."""
    result = op.results[0]
    shape, b = _shape(result), GraphBuilder(op)
    full = [x for x in op.operands if _shape(x) == shape]
    orders = {order for x in full if (order := _order_of(x)) is not None}
    if len(orders) != 1:
        return False
    (order,) = orders
    back = _inverse(order)
    if back not in wanted or not all(_follows(x, shape, order) for x in op.operands):
        return False
    operands = [_before(b, x, shape, order) for x in op.operands]
    copy = op.operation.clone(ip=ir.InsertionPoint(op)).opview
    for place, operand in enumerate(operands):
        copy.operation.operands[place] = operand
    made = copy.operation.results[0]
    turned = [shape[dim] for dim in back]
    made.set_type(ty.tensor_type(turned, result.type.element_type))
    permuted = b.op("permute", made, permutation=order)
    result.replace_all_uses_with(permuted)
    for user in [use.owner.opview for use in permuted.uses]:
        if user.operation.name == _PERMUTE and tuple(user.permutation) == back:
            user.results[0].replace_all_uses_with(made)
    return True


def _follows(value: ir.Value, shape: tuple[Size, ...], order: Order) -> bool:
    """Whether an operand is permuted so, or another shape of it is what is read.

    Sizes of one may move: all others stay in their order.
    """
    own = _shape(value)
    if own == shape and _order_of(value) == order:
        return True
    whole = _whole(own, len(shape))
    kept = [dim for dim in _inverse(order) if whole[dim] != 1]
    return own != shape and kept == sorted(kept)


def _before(
    b: GraphBuilder, value: ir.Value, shape: tuple[Size, ...], order: Order
) -> ir.Value:
    """An operand in the order from which the permutation leads."""
    own = _shape(value)
    if not own:
        return value
    back = _inverse(order)
    if own != shape:
        whole = _whole(own, len(shape))
        return b.reshape(value, tuple(whole[dim] for dim in back))
    op = value.owner.opview
    if op.operation.name == _PERMUTE:
        return op.x
    return b.op("permute", value, permutation=back)


def _order_of(value: ir.Value) -> Order | None:
    """The permutation that leads to a value from the order in which it lies."""
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.opview
    if op.operation.name == _PERMUTE:
        return tuple(op.permutation)
    if "strides" not in op.attributes or has(op, ELEMENTWISE):
        return None
    strides = attr.LAYOUTS.decode(op.attributes["strides"])
    place = list(op.results).index(value)
    is_known = place < len(strides) and _has_channels_last(value, strides[place])
    return _CHANNELS_FIRST if is_known else None


def _has_channels_last(value: ir.Value, strides: tuple | None) -> bool:
    shape = _shape(value)
    is_static = not any(isinstance(size, Dim) for size in shape)
    if len(shape) != 4 or strides is None or not is_static:
        return False
    return tuple(strides) == tuple(channels_innermost(shape))


def _inverse(order: Order) -> Order:
    return tuple(order.index(dim) for dim in range(len(order)))


def _whole(shape: tuple[Size, ...], rank: int) -> tuple[Size, ...]:
    return (*(1,) * (rank - len(shape)), *shape)


def _shape(value: ir.Value) -> tuple[Size, ...]:
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    return ty.shape_of(value.type) if is_tensor else ()
