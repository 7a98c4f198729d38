"""Loops over blocks."""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.passes.convert_tile_to_tt import builder as b
from girih.passes.convert_tile_to_tt.lowering import Lowering, lowers

_LESS = 2
# How many steps of a loop are in flight, for Triton's software pipeliner.
_STAGES = "tt.num_stages"
# How many steps of a loop Triton writes out.
_UNROLL = "tt.loop_unroll_factor"


@lowers("tile.loop")
def lower_loop(lowering: Lowering, op: ir.OpView) -> None:
    """A loop with a step of `width`; each step computes its mask."""
    low, high, *inits = lowering.all(op.operands)
    width, block = op.width, op.block
    step = b.constant(lowering.index, width)
    attributes = {}
    if op.stages is not None:
        attributes[_STAGES] = ir.IntegerAttr.get(b.integer(32), op.stages)
    loop = ir.Operation.create(
        "scf.for",
        results=[value.type for value in inits],
        operands=[low, high, step, *inits],
        attributes=attributes,
        regions=1,
    )
    types = [lowering.index, *(value.type for value in inits)]
    locations = [ir.Location.current] * len(types)
    body = loop.regions[0].blocks.append(*types, arg_locs=locations)
    start, *carried = body.arguments
    first, mask, *old = block.arguments
    lowering.values.update(zip([first, *old], [start, *carried], strict=True))
    with ir.InsertionPoint(body):
        positions = b.same("arith.addi", b.splat(start, [width]), lowering.lanes(width))
        lowering.values[mask] = b.compare(_LESS, positions, b.splat(high, [width]))
        lowering.lower_block(block)
    lowering.set(op, *loop.results)


@lowers("scf.for")
def lower_for(lowering: Lowering, op: ir.OpView) -> None:
    """The same loop, with Triton's attributes for `stages` and `unroll`."""
    loop = lowering.keep(op)
    for name, theirs in (("stages", _STAGES), ("unroll", _UNROLL)):
        if name in loop.attributes:
            number = ir.IntegerAttr(loop.attributes[name]).value
            del loop.attributes[name]
            loop.attributes[theirs] = ir.IntegerAttr.get(b.integer(32), number)


@lowers("tile.yield")
def lower_yield(lowering: Lowering, op: ir.OpView) -> None:
    """The values carried to the next step."""
    operands = lowering.all(op.operands)
    ir.Operation.create("scf.yield", operands=operands)
