"""Broadcasts, reductions, scans, transpositions and numbers of lanes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from girih.dialects import tt
from girih.dialects.bindings import ir
from girih.dialects.tt.base import element_of, shape_of
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.functions import library_call
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers
from girih.passes.upstream import COMBINE

Value = ir.Value
Combine = Callable[[Value, Value], Value]
_EQUAL = 1


@lowers("vector.step")
def lower_step(lowering: Lowering, op: ir.OpView) -> None:
    """The numbers of the lanes."""
    lowering.set(op, lowering.lanes(op.results[0].type.shape[0]))


@lowers("vector.broadcast")
def lower_broadcast(lowering: Lowering, op: ir.OpView) -> None:
    """A scalar, or a tensor, repeated along leading dims and those of size 1."""
    source = lowering.new(op.operands[0])
    shape = list(op.results[0].type.shape)
    if not shape:
        result = source
    elif not shape_of(source.type):
        result = b.splat(source, shape)
    else:
        while len(shape_of(source.type)) < len(shape):
            source = b.expand(source, 0)
        result = b.broadcast(source, shape)
    lowering.set(op, result)


@lowers("vector.shape_cast")
def lower_shape_cast(lowering: Lowering, op: ir.OpView) -> None:
    """A dim of size 1 more is added to the shape; other casts reshape."""
    source = lowering.new(op.operands[0])
    type = lowering.type(op.results[0].type)
    before, after = shape_of(source.type), shape_of(type)
    if before == after:
        result = source
    elif after in ((1, *before), (*before, 1)):
        result = b.expand(source, 0 if after == (1, *before) else len(before))
    else:
        result = b.make("reshape", [source], type=type)
    lowering.set(op, result)


@lowers("vector.transpose")
def lower_transpose(lowering: Lowering, op: ir.OpView) -> None:
    """The dims in another order."""
    order = list(op.attributes["permutation"])
    source = lowering.new(op.operands[0])
    lowering.set(op, b.make("trans", [source], {"order": order}))


@lowers("vector.multi_reduction")
def lower_multi_reduction(lowering: Lowering, op: ir.OpView) -> None:
    """One dim after the other, then the accumulator."""
    result, accumulator = lowering.all(op.operands)
    combine = _named(_combination(op, result))
    for axis in sorted(op.attributes["reduction_dims"], reverse=True):
        result = _reduce(result, axis, combine)
    lowering.set(op, combine(result, accumulator))


@lowers("vector.reduction")
def lower_reduction(lowering: Lowering, op: ir.OpView) -> None:
    """The lanes of a row, then the accumulator, if there is one."""
    source, *accumulators = lowering.all(op.operands)
    combine = _named(_combination(op, source))
    result = _reduce(source, 0, combine)
    for accumulator in accumulators:
        result = combine(result, accumulator)
    lowering.set(op, result)


@lowers("vector.scan")
def lower_scan(lowering: Lowering, op: ir.OpView) -> None:
    """By the named combination."""
    combine = _named(_combination(op, lowering.new(op.operands[0])))
    _lower_scan(lowering, op, op.attributes["reduction_dim"].value, combine)


@lowers("tile.block_scan")
def lower_scan_of_logarithms(lowering: Lowering, op: ir.OpView) -> None:
    """By the logarithm of the sum of two powers."""

    def combine(lhs: Value, rhs: Value) -> Value:
        larger = b.same("arith.maximumf", lhs, rhs)
        distance = b.same("arith.subf", b.same("arith.minimumf", lhs, rhs), larger)
        power = library_call(lowering, "math.exp", distance)
        added = library_call(lowering, "math.log1p", power)
        # The distance of equal infinities is NaN.
        is_equal = b.compare_floats(_EQUAL, lhs, rhs)
        log_of_two = b.constant(lhs.type, math.log(2))
        added = b.value("arith.select", lhs.type, [is_equal, log_of_two, added])
        return b.same("arith.addf", larger, added)

    _lower_scan(lowering, op, op.dim, combine)


def _lower_scan(lowering: Lowering, op: ir.OpView, axis: int, combine: Combine) -> None:
    """The scan from the first element on, then what comes before it.

    What comes after needs no scan: it is combined by itself, which takes less time.
    """
    source, before = lowering.all(op.operands)
    attributes = {"axis": axis, "reverse": False}
    scanned = _combining("scan", source, attributes, combine)
    shape = shape_of(source.type)
    earlier = before if len(shape) == 1 else b.expand(before, axis)
    spread = b.broadcast if shape_of(earlier.type) else b.splat
    result = combine(spread(earlier, shape), scanned)
    following = before
    if list(op.results[1].uses):
        following = combine(before, _reduce(source, axis, combine))
    lowering.set(op, result, following)


def _named(name: str) -> Combine:
    return functools.partial(b.same, name)


def _combination(op: ir.OpView, source: Value) -> str:
    kind = str(op.attributes["kind"])
    name = kind.removeprefix("#vector.kind<").removesuffix(">")
    return COMBINE[name][isinstance(element_of(source.type), ir.FloatType)]


def _reduce(source: Value, axis: int, combine: Combine) -> Value:
    return _combining("reduce", source, {"axis": axis}, combine)


def _combining(name: str, source: Value, attributes: dict, combine: Combine) -> Value:
    """A reduction or scan whose body combines two elements."""
    op = tt.build(name, [[source]], attributes)
    element = element_of(source.type)
    location = ir.Location.current
    block = op.regions[0].blocks.append(element, element, arg_locs=[location] * 2)
    with ir.InsertionPoint(block):
        tt.build(f"{name}.return", [[combine(*block.arguments)]])
    return op.results[0]
