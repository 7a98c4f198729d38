"""Grids of programs, and their loops over blocks."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from girih.dialects.bindings import ir
from girih.dialects.dims import ceildiv
from girih.passes.tile.gpu.attention.blocks import Blocks
from girih.passes.tile.gpu.attention.policy import Sizes
from girih.passes.tile.gpu.attention.space import ScoreSpace
from girih.passes.tile.gpu.attention.visible import Visible
from girih.passes.tile.gpu.indices import is_whole
from girih.passes.tile.gpu.plan import Block
from girih.passes.tile.index import Affine, Coordinate, of
from girih.passes.tile.sizes import Size, is_constant, product

Value = ir.Value
Bounds = tuple[Value, Value]


@contextmanager
def grid(
    blocks: Blocks,
    outer: Sequence[Coordinate],
    own: Block,
    sizes: Sizes,
    last_first: bool = False,
) -> Iterator[None]:
    """Enters the body of a grid.

    Args:
        blocks: makes what is in it.
        outer: coordinates of which a program has one value.
        own: the dim of which a program has one block; neighbours run together.
        sizes: warps and stages.
        last_first: whether the last block's program starts first: where it has most
            to do, the others fill the processors at the end.
    """
    indices, stack = blocks.indices, blocks.stack
    counts = [c.size for c in outer] + [ceildiv(own.coordinate.size, own.size)]
    # Only CPUs ask how much work there is; a large number would make indices wide.
    operands = [indices.size(product(counts)), indices.size(1)]
    b = indices.at(0)
    attributes = {
        "num_warps": b.int_attribute(sizes.warps),
        "num_stages": b.int_attribute(sizes.stages),
    }
    op = b.create("tile.grid", [], operands, attributes, regions=1)
    block = op.regions[0].blocks.append(b.index)
    stack.push(op, block)
    numbers = _taken_apart(blocks, block.arguments[0], counts)
    for coordinate, number in zip(outer, numbers, strict=False):
        stack.top.coordinates[coordinate] = number
    number, size = numbers[-1], indices.size(own.size)
    if last_first:
        last = indices.size(counts[-1] - 1)
        number = blocks.at().same("arith.subi", last, number)
    _bind(blocks, own, blocks.at().same("arith.muli", number, size))
    yield
    stack.pop()


def _taken_apart(blocks: Blocks, number: Value, counts: list[Size]) -> list[Value]:
    """A program's number as one number for each count, the last runs fastest."""
    indices, found = blocks.indices, []
    for place, count in reversed(list(enumerate(counts))):
        if is_constant(count, 1):
            found.append(indices.size(0))
            continue
        own = number
        if any(not is_constant(c, 1) for c in counts[:place]):
            size = indices.size(count)
            b = blocks.at()
            own = b.op("arith.remui", b.index, number, size)
            number = b.op("arith.divui", b.index, number, size)
        found.append(own)
    return found[::-1]


def _bind(blocks: Blocks, own: Block, start: Value) -> None:
    size = own.coordinate.size
    end = None if is_whole(size, own.size) else size
    blocks.indices.bind(own.coordinate, start, end)


def keys_of(blocks: Blocks, space: ScoreSpace, visible: Visible) -> Bounds:
    """The keys that some query of the program's block can see."""
    rows, columns = (_block(blocks, c) for c in (space.rows, space.columns))
    first, last = visible.first, visible.last
    start = None if first is None else of(space.rows) + first
    end = None if last is None else of(space.rows) + (last + rows.size)
    return _bounds(blocks, columns, start, end)


def clear_end(blocks: Blocks, space: ScoreSpace, visible: Visible) -> Value | None:
    """Where the blocks of keys end of which all queries of the program see all.

    None where that is the end of all, or where the first blocks are no such blocks.
    """
    rows, columns = (_block(blocks, c) for c in (space.rows, space.columns))
    size = columns.coordinate.size
    is_all = visible.last is None and is_whole(size, columns.size)
    if visible.first is not None or is_all:
        return None
    indices, whole = blocks.indices, size // columns.size * columns.size
    if is_constant(whole, 0):
        return None
    whole = indices.size(whole)
    if visible.last is None:
        return whole
    value = indices.scalar(of(space.rows) + (visible.last + 1))
    zero, step = indices.size(0), indices.size(columns.size)
    b = blocks.at()
    value = b.same("arith.maxsi", value, zero)
    value = b.same("arith.subi", value, b.same("arith.remui", value, step))
    return b.same("arith.minsi", value, whole)


def queries_of(blocks: Blocks, space: ScoreSpace, visible: Visible) -> Bounds:
    """The queries that can see some key of the program's block."""
    rows, columns = (_block(blocks, c) for c in (space.rows, space.columns))
    first, last = visible.first, visible.last
    start = None if last is None else of(space.columns) - last
    end = None if first is None else of(space.columns) + (columns.size - first)
    return _bounds(blocks, rows, start, end)


def _block(blocks: Blocks, coordinate: Coordinate) -> Block:
    dims = blocks.indices.blocks
    return next(block for block in dims if block.coordinate == coordinate)


def _bounds(
    blocks: Blocks, along: Block, start: Affine | None, end: Affine | None
) -> Bounds:
    """Bounds of a loop over whole blocks, inside of a coordinate."""
    indices = blocks.indices
    low, high = indices.size(0), indices.size(along.coordinate.size)
    if start is not None:
        value, size = indices.scalar(start), indices.size(along.size)
        b = blocks.at()
        value = b.same("arith.maxsi", value, low)
        low = b.same("arith.subi", value, b.same("arith.remui", value, size))
    if end is not None:
        value = indices.scalar(end)
        high = blocks.at().same("arith.minsi", value, high)
    return low, high


def loop(
    blocks: Blocks,
    along: Block | Coordinate,
    inits: Sequence[Value],
    body: Callable[[list[Value]], list[Value]],
    bounds: Bounds | None = None,
    is_clear: bool = False,
) -> list[Value]:
    """A loop over a coordinate, block by block where a dim lies along it.

    With ``is_clear`` all points of all blocks are inside.
    """
    indices, stack = blocks.indices, blocks.stack
    is_block = isinstance(along, Block)
    coordinate = along.coordinate if is_block else along
    low, high = bounds or (indices.size(0), indices.size(coordinate.size))
    step = indices.size(along.size if is_block else 1)
    types = [value.type for value in inits]
    b = blocks.at()
    op = b.create("scf.for", types, [low, high, step, *inits], regions=1)
    inner = op.regions[0].blocks.append(b.index, *types)
    stack.push(op, inner)
    if is_block and is_clear:
        indices.bind(coordinate, inner.arguments[0], None)
    elif is_block:
        _bind(blocks, along, inner.arguments[0])
    else:
        stack.top.coordinates[coordinate] = inner.arguments[0]
    results = body(list(inner.arguments)[1:])
    blocks.at().create("scf.yield", [], results)
    stack.pop()
    blocks.forget_masks()
    return list(op.results)
