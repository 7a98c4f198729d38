"""Grids become parallel loops, loops a main loop with a masked last step; calls."""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects.bindings import ir, omp
from girih.passes.convert_tile_to_cpu import builder as b
from girih.passes.convert_tile_to_cpu.lowering import Lowering, lowers
from girih.passes.upstream import constant_of

Value = ir.Value


@lowers("tile.grid")
def lower_grid(lowering: Lowering, op: ir.OpView) -> None:
    """Programs 0 to count: in parallel where the work pays for it."""
    count, work = op.operands
    body = op.regions[0].blocks[0]
    elements = constant_of(work)
    small = elements is not None and elements < lowering.threshold
    if small or constant_of(count) == 1:
        _serial_loop(count, body)
    else:
        parallel, nest = _parallel_loop(lowering, count, work)
        body.append_to(nest.region)
        _terminate(body, "omp.yield")
        lowering.program_entry = parallel.region.blocks[0]
    lowering.lower_block(body)
    lowering.program_entry = lowering.function_entry
    op.operation.erase()


@lowers("tile.call")
def lower_call(lowering: Lowering, op: ir.OpView) -> None:
    """A kernel is a function by now, where MLIR's own calls are valid."""
    made = b.call(op.callee, [op.value.type], list(op.operands))
    op.value.replace_all_uses_with(made.result)
    op.operation.erase()


def _serial_loop(count: Value, body: ir.Block) -> None:
    loop = b.make("scf.for", [], [b.index(0), count, b.index(1)], regions=1)
    body.append_to(loop.regions[0])
    _terminate(body, "scf.yield")


def _terminate(body: ir.Block, name: str) -> None:
    """Give a grid's body the terminator that its new place wants."""
    with ir.InsertionPoint(body):
        b.make(name, [], [])


def _parallel_loop(
    lowering: Lowering, count: Value, work: Value
) -> tuple[omp.ParallelOp, omp.LoopNestOp]:
    """`omp.parallel` around a statically divided loop whose body is missing.

    Threads meet at the end of the region, so the loop itself waits for nobody.
    """
    condition = None
    if constant_of(work) is None:
        condition = b.compare("sge", work, b.index(lowering.threshold))
    parallel = omp.ParallelOp([], [], [], [], [], if_expr=condition)
    with ir.InsertionPoint(parallel.region.blocks.append()):
        first, step = b.index(0), b.index(1)
        loop = omp.WsloopOp([], [], [], [], [], [], nowait=True)
        b.make("omp.terminator", [], [])
    with ir.InsertionPoint(loop.region.blocks.append()):
        nest = omp.LoopNestOp([first], [count], [step])
    return parallel, nest


@lowers("tile.loop")
def lower_loop(lowering: Lowering, op: ir.OpView) -> None:
    """Whole steps with a mask that is constantly true, then one with the rest.

    The second copy of the body is left out where the number of steps is known to be
    whole, the first where there is none.
    """
    low, high, *carried = op.operands
    width = ir.IntegerAttr(op.attributes["width"]).value
    trips = _known_trips(low, high)
    has_main = trips is None or trips >= width
    has_tail = trips is None or trips % width != 0
    is_whole = has_main and not has_tail
    end = high if is_whole else _main_end(low, high, width)
    tail = op.operation.clone() if has_main and has_tail else op.operation
    parents = []
    if has_main:
        main = _main_loop(op.regions[0].blocks[0], low, end, width, carried)
        carried = list(main.results)
        parents.append(main)
    if has_tail:
        body = tail.regions[0].blocks[0]
        last = _last_step(lowering, body, end, high, width, carried)
        carried = list(last.results)
        parents.append(last)
    _replace(op.operation, carried)
    if tail is not op.operation:
        tail.erase()
    for parent in parents:
        lowering.lower_block(parent.regions[0].blocks[0])


def _known_trips(low: Value, high: Value) -> int | None:
    first, last = constant_of(low), constant_of(high)
    if first is not None and last is not None:
        return max(last - first, 0)
    made = high.owner
    if not isinstance(made, ir.Block) and made.name == "arith.addi":
        by = constant_of(made.operands[1])
        if by is not None and made.operands[0] == low:
            return max(by, 0)
    return None


def _main_end(low: Value, high: Value, width: int) -> Value:
    """Where whole steps end: low + max(high - low, 0) // width * width."""
    length = b.same("arith.maxsi", b.sub(high, low), b.index(0))
    whole = b.same("arith.divui", length, b.index(width))
    return b.add(low, b.mul(whole, b.index(width)))


def _main_loop(
    body: ir.Block, low: Value, end: Value, width: int, carried: Sequence[Value]
) -> ir.Operation:
    mask = b.splat(b.vector_of(width, b.integer(1)), -1)
    types = [value.type for value in carried]
    operands = [low, end, b.index(width), *carried]
    loop = b.make("scf.for", types, operands, regions=1)
    body.arguments[1].replace_all_uses_with(mask)
    body.erase_argument(1)
    body.append_to(loop.regions[0])
    _replace_terminator(body, "scf.yield", _yielded(body))
    return loop


def _last_step(
    lowering: Lowering,
    body: ir.Block,
    start: Value,
    high: Value,
    width: int,
    carried: Sequence[Value],
) -> ir.Operation:
    types = [value.type for value in carried]
    branch = b.make("scf.if", types, [b.compare("slt", start, high)], regions=2)
    with ir.InsertionPoint(branch):
        rest = b.value("arith.index_cast", b.integer(32), [b.sub(high, start)])
        mask = b.compare("slt", b.lane_numbers(width), b.broadcast(rest, width))
    lowering.prefixes.add(mask)
    for argument, value in zip(body.arguments, (start, mask, *carried), strict=True):
        argument.replace_all_uses_with(value)
    for position in reversed(range(len(body.arguments))):
        body.erase_argument(position)
    body.append_to(branch.regions[0])
    _replace_terminator(body, "scf.yield", _yielded(body))
    if types:
        with ir.InsertionPoint(branch.regions[1].blocks.append()):
            b.make("scf.yield", [], list(carried))
    return branch


def _yielded(body: ir.Block) -> list[Value]:
    return list(_terminator(body).operands)


def _terminator(body: ir.Block) -> ir.Operation:
    return list(body.operations)[-1].operation


def _replace_terminator(body: ir.Block, name: str, operands: Sequence[Value]) -> None:
    last = _terminator(body)
    with last.location, ir.InsertionPoint(last):
        b.make(name, [], list(operands))
    last.erase()


def _replace(operation: ir.Operation, values: Sequence[Value]) -> None:
    for result, value in zip(operation.results, values, strict=True):
        result.replace_all_uses_with(value)
    operation.erase()
