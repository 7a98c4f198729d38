"""Chooses how a kernel runs whose reductions are followed by others along other dims.

The block holds all reduced coordinates, so the first reductions need no loop; the
program walks along the closing coordinates, and has an accumulator for each element of
the block. A softmax across rows of which each row is summed is read once so.
"""

from dataclasses import replace

from girih.passes.tile.choose import split_passes
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.coordinates import columns_of, rest, shared_out
from girih.passes.tile.gpu.grids import axes_of, blocks_text, make_grid, sizes_text
from girih.passes.tile.gpu.plan import Block, BlockGrid, is_aligned
from girih.passes.tile.gpu.policy import Share
from girih.passes.tile.index import Coordinate, affine
from girih.passes.tile.plan import Pass, SchedulePlan
from girih.passes.tile.sizes import is_constant
from girih.passes.tile.subject import Subject

Blocks = tuple[Block, ...]


def choose_closing(subject: Subject) -> SchedulePlan:
    """Decides how a kernel with closing reductions runs.

    Raises:
        ValueError: the reduced coordinates are not one of a known size.
    """
    formula = subject.formula
    if len(formula.reduced) != 1 or not isinstance(formula.reduced[0].size, int):
        sizes = sizes_text(formula.reduced)
        raise ValueError(f"closing reductions need one reduced size, got {sizes}")
    columns = columns_of(subject, sum(formula.coordinates, ()))
    is_narrow = _starts_anywhere(subject, columns)
    share = policy.CLOSING_NARROW if is_narrow else policy.CLOSING
    share = shared_out(subject, share, columns)
    blocks = _blocks(subject, columns, share)
    if len(blocks) == 1:
        of_thread = min(share.of_thread, policy.OF_CLOSING_ROW)
        share = replace(share, of_thread=of_thread)
    grid = _grid(subject, blocks, share)
    reason = (
        f"{sizes_text(formula.parallel)} results of {sizes_text(formula.closing)}"
        f" times {sizes_text(formula.reduced)} elements, {len(grid.inner)} rounds in"
        f" each step, {blocks_text(grid)}"
    )
    return SchedulePlan("closing", reason, (grid,), (), is_blocked=True)


def _starts_anywhere(subject: Subject, columns: Coordinate) -> bool:
    """True where rows are loaded element by element, as they are not aligned."""
    for load in subject.loads:
        if is_constant(load.offset.coefficient(columns), 1):
            size = subject.source.buffers[load.buffer].element.bytes
            row = load.offset - affine({columns: 1})
            if not is_aligned(row, policy.ACCESS_BYTES // size):
                return True
    return False


def _blocks(subject: Subject, columns: Coordinate, share: Share) -> Blocks:
    """The reduced coordinate whole, and the columns or what is next to it.

    A long row stands alone.
    """
    formula = subject.formula
    (held,) = formula.reduced
    own = Block(held, policy.power_of_two(held.size))
    space = share.elements // own.size
    if columns != held:
        most = policy.LARGEST_CLOSING // own.size
        space = max(space, min(policy.LEAST_CLOSING_COLUMNS, most))
    if columns == held and space < 2:
        return (own,)
    other = formula.closing[-1] if columns == held else columns
    is_looped = other in formula.closing
    block = Block(other, policy.block_of(other.size, max(space, 2)), is_looped)
    return (block, own) if columns == held else (own, block)


def _grid(subject: Subject, blocks: Blocks, share: Share) -> BlockGrid:
    formula = subject.formula
    held = [node for node in subject.reductions if not node.is_closing]
    closing = tuple(node for node in subject.reductions if node.is_closing)
    along = frozenset(formula.closing)
    varying = tuple(s for s in formula.stores if s.coordinates & along)
    final = tuple(s for s in formula.stores if not s.coordinates & along)
    inner, rest_ = split_passes(replace(formula, stores=varying), held, formula.closing)
    assert not rest_
    bound = [block.coordinate for block in blocks]
    grid = make_grid(
        subject,
        axes_of(formula.parallel, blocks),
        blocks,
        (Pass(closing, (), (), 0),),
        share,
    )
    return replace(
        grid,
        loops=rest(formula.closing, *bound),
        stores=final,
        closing=formula.closing,
        inner=inner,
    )
