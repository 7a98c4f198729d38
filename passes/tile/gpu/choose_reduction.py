"""Chooses how a reduction runs on a GPU."""

from collections import Counter
from dataclasses import replace

from girih.passes.tile.choose import split_passes
from girih.passes.tile.cost import node_cost
from girih.passes.tile.folds import EXPONENTIALS
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.choose_window import is_over_windows, window_blocks
from girih.passes.tile.gpu.coordinates import (
    columns_of,
    has_weights,
    is_gathered,
    loaded,
    rest,
    shared_out,
)
from girih.passes.tile.gpu.grids import axes_of, blocks_text, make_grid, sizes_text
from girih.passes.tile.gpu.one_pass import in_one_pass, rounds
from girih.passes.tile.gpu.plan import (
    Block,
    BlockGrid,
    Peeling,
    is_aligned,
)
from girih.passes.tile.gpu.policy import Share
from girih.passes.tile.gpu.split import should_split_blocks, split_blocks
from girih.passes.tile.index import Coordinate, affine, coordinates_of
from girih.passes.tile.plan import SchedulePlan
from girih.passes.tile.sizes import Size, is_at_least, is_constant, known, product
from girih.passes.tile.subject import Subject, with_formula

Blocks = tuple[Block, ...]


def choose_reduction(subject: Subject) -> SchedulePlan:
    """Decides how a kernel that reduces runs."""
    formula = subject.formula
    if is_over_windows(subject):
        subject, *blocks = window_blocks(subject)
        formula = subject.formula
        grid = replace(_grid(subject, *blocks), unrolls=True)
        reason = (
            f"{sizes_text(formula.parallel)} results of {sizes_text(formula.reduced)}"
            f" elements, {blocks_text(grid)}"
        )
        return SchedulePlan("windows", reason, (grid,), (), is_blocked=True)
    columns = _columns(subject)
    is_rows = columns in formula.reduced
    merged = _with_fewer_walks(subject)
    blocks, share = (_row_blocks if is_rows else _column_blocks)(merged, columns)
    grid = _grid(subject, blocks, share)
    if grid.walks:
        subject, grid = merged, _grid(merged, blocks, share)
    kind = "columns" if not is_rows else "rows" if grid.walks else "registers"
    reason = (
        f"{sizes_text(formula.parallel)} results of {sizes_text(formula.reduced)}"
        f" elements, {len(grid.passes)} passes, {blocks_text(grid)}"
    )
    if should_split_blocks(grid, subject):
        grids, locals_, text = split_blocks(grid, subject)
        plan = SchedulePlan(f"split {kind}", f"{reason}, {text}", grids, locals_)
        return replace(plan, is_blocked=True)
    return SchedulePlan(kind, reason, (grid,), (), is_blocked=True)


def _columns(subject: Subject) -> Coordinate | None:
    """The coordinate along which memory is walked.

    Columns that are held whole are read as they lie, though rows may be stored: a warp
    that reads two elements of each line waits for 16 times the bytes. Layer norm of 3 x
    384 x 112 x 112 in bf16 to rows of channels, which come first, and a product in the
    first order: 53.5 us, in rows 76.6 (H100, 2026-11-27).
    """
    formula = subject.formula
    found = columns_of(subject, formula.parallel + formula.reduced)
    across = columns_of(subject, formula.parallel)
    if found not in formula.reduced or across is None or len(formula.reduced) > 1:
        return found
    is_held = isinstance(found.size, int) and found.size <= policy.WHOLE_COLUMN
    if not is_held or not _reads_again(subject) or is_gathered(subject, across):
        return found
    reads_across = loaded(subject, across) > loaded(subject, found)
    return across if reads_across else found


def _grid(subject: Subject, blocks: Blocks, share: Share) -> BlockGrid:
    formula = subject.formula
    passes, final = split_passes(formula, subject.reductions, formula.reduced)
    axes = axes_of(formula.parallel, blocks)
    grid = make_grid(subject, axes, blocks, passes, share)
    grid = replace(grid, stores=final, peeling=_peeling(subject, blocks))
    return replace(grid, group=_group(subject, grid))


def _group(subject: Subject, grid: BlockGrid) -> int:
    """Elements that share an accumulator: those that a thread loads at once."""
    takes_groups = all(n.fold.take_group is not None for n in subject.reductions)
    if not takes_groups or not grid.walks or len(grid.blocks) != 1:
        return 1
    (own,) = grid.blocks
    if own.coordinate not in grid.reduced:
        return 1
    group = policy.ACCESS_BYTES // _bytes_along(subject, own.coordinate)
    return group if own.size >= group * policy.THREADS else 1


def _peeling(subject: Subject, blocks: tuple[Block, ...]) -> Peeling | None:
    """How the loop along rows is peeled; None where most accesses are aligned."""
    looped = [b.coordinate for b in blocks if b.is_looped]
    loads = [node for node in subject.loads if not node.guards]
    accesses = [(n.buffer, n.offset) for n in loads]
    accesses += [(s.buffer, s.offset) for s in subject.formula.stores]
    bound = frozenset(b.coordinate for b in blocks)
    found: Counter[tuple[Peeling, bool]] = Counter()
    for buffer, offset in accesses:
        along = next((c for c in looped if is_constant(offset.coefficient(c), 1)), None)
        if along is None:
            continue
        row = offset - affine({along: 1})
        if bound & coordinates_of(row):
            continue
        size = subject.source.buffers[buffer].element.bytes
        unit = policy.ACCESS_BYTES // size
        found[Peeling(along, row, unit), is_aligned(row, unit)] += size
    if not found:
        return None
    (peeling, needs_none), _ = found.most_common(1)[0]
    return None if needs_none else peeling


def _with_fewer_walks(subject: Subject) -> Subject:
    """The kernel with rounds of reductions merged, where that spares a walk."""
    formula = in_one_pass(subject.formula)
    merged = with_formula(subject, formula)
    before = rounds(subject.formula, subject.reductions)
    return merged if rounds(formula, merged.reductions) < before else subject


# Blocks -----------------------------------------------------------------------------


def _row_blocks(subject: Subject, columns: Coordinate) -> tuple[Blocks, Share]:
    """Blocks of a reduction along contiguous memory: rows lie in the columns' dim."""
    formula = subject.formula
    others = rest(formula.reduced, columns)
    if not _fits_registers(subject, columns):
        share = shared_out(subject, _row_share(subject, columns), columns)
        width = _without_much_outside(columns.size, share.elements) if others else 0
        own = Block(columns, width or share.elements, is_looped=True)
        return (own,), share
    own = Block(columns, policy.power_of_two(columns.size))
    if others:
        share = shared_out(subject, _share_of_several(subject), columns)
        return _both_reduced(own, others[-1], share), share
    share = shared_out(subject, _register_share(subject, columns), columns)
    return _rows_in_registers(subject, own, share), share


def _share_of_several(subject: Subject) -> Share:
    """What a program has of several dims whose short rows are loaded whole."""
    if rounds(subject.formula, subject.reductions) == 1:
        return policy.COLUMNS
    return policy.SEVERAL_AGAIN


def _without_much_outside(size: Size, width: int) -> int:
    """A width, or half of it where that leaves fewer points outside of short rows."""
    if not isinstance(size, int):
        return width
    whole, half = (-(-size // n) * n for n in (width, width // 2))
    is_poor = whole > size * policy.MUCH_OUTSIDE and half < size * policy.LITTLE_OUTSIDE
    return width // 2 if is_poor else width


def _register_share(subject: Subject, columns: Coordinate) -> Share:
    if _results(subject) <= subject.options.processors:
        return policy.FEW_ROWS
    if _is_short_with_weights(subject, columns):
        fills = columns.size == policy.power_of_two(columns.size)
        are_many = _results(subject) >= policy.MANY_SHORT * subject.options.processors
        is_shared = fills and are_many
        return policy.SHORT_THAT_FILL if is_shared else policy.SHORT_WITH_WEIGHTS
    if has_weights(subject, columns) and columns.size > policy.NARROW_ROW:
        return policy.WITH_WEIGHTS
    if _is_for_one_warp(subject, columns):
        return policy.SHORT_WITH_WEIGHTS
    size = _bytes_along(subject, columns)
    if columns.size <= policy.NARROW_ROW and size >= policy.NARROW_BYTES:
        of_processor = _results(subject) * columns.size // subject.options.processors
        return next(s for least, s in policy.NARROW_ROWS if of_processor >= least)
    more = max(4 // size, 1)
    return replace(policy.REGISTERS, elements=policy.REGISTERS.elements * more)


def _is_short_with_weights(subject: Subject, columns: Coordinate) -> bool:
    """True where rows that are combined with weights are for one warp."""
    return _is_short(columns) and has_weights(subject, columns)


def _is_short(columns: Coordinate) -> bool:
    is_narrow = is_at_least(policy.NARROW_ROW, columns.size)
    return is_at_least(policy.SHORT_ROW, columns.size) and not is_narrow


def _is_for_one_warp(subject: Subject, columns: Coordinate) -> bool:
    """True where short 16-bit rows without weights are for one warp, too."""
    return (
        _is_short(columns)
        and len(subject.formula.reduced) == 1
        and _reads_again(subject)
        and _bytes_moved_along(subject, columns) == {policy.NARROW_BYTES}
        and not has_weights(subject, columns)
        and len(_arrays(subject, columns)) <= policy.MOST_ARRAYS_OF_WARP
        and _cost_along(subject, columns) <= policy.MUCH_ARITHMETIC
    )


def _is_walked_by_warp(subject: Subject, columns: Coordinate) -> bool:
    """True where such rows are read again rather than held."""
    if not _is_for_one_warp(subject, columns):
        return False
    return (
        columns.size % policy.WALKED_BY_WARP.elements == 0
        and any(columns in store.coordinates for store in subject.formula.stores)
        and len(_arrays(subject, columns)) == 1
        and _cost_along(subject, columns) <= policy.LITTLE_ARITHMETIC
        and _is_aligned(subject, columns)
    )


def _are_many_sums(subject: Subject, columns: Coordinate) -> bool:
    """True where short rows of f32 are walked though they are read once."""
    many = policy.MANY_SINGLE_ROWS * subject.options.processors
    return (
        _is_short(columns)
        and columns.size % policy.ACCESS_BYTES == 0  # else masks make accesses narrow
        and _results(subject) >= many
        and _bytes_moved_along(subject, columns) == {policy.WIDE_BYTES}
        and len(_arrays(subject, columns)) == 1
        and _cost_along(subject, columns) <= policy.LITTLE_ARITHMETIC
        and all(node.fold.is_plain for node in subject.reductions)
        and _is_aligned(subject, columns)
    )


def _bytes_moved_along(subject: Subject, columns: Coordinate) -> set[int]:
    """The sizes of what is loaded and stored for each element of a row."""
    accesses = (*subject.loads, *subject.formula.stores)
    return {
        subject.source.buffers[access.buffer].element.bytes
        for access in accesses
        if columns in access.coordinates
    }


def _arrays(subject: Subject, columns: Coordinate) -> set[int]:
    """The buffers of which a row has elements of its own."""
    return {n.buffer for n in subject.loads if columns in n.coordinates}


def _cost_along(subject: Subject, columns: Coordinate) -> int:
    """Instructions for each element of a row, about."""
    return sum(node_cost(n) for n in subject.nodes if columns in n.coordinates)


def _row_share(subject: Subject, columns: Coordinate) -> Share:
    if not isinstance(columns.size, int):
        return policy.SYMBOLIC_ROWS
    is_walked_once = rounds(subject.formula, subject.reductions) == 1
    if len(subject.formula.reduced) > 1:
        return policy.SEVERAL if is_walked_once else policy.SEVERAL_AGAIN
    if is_walked_once:
        is_costly = _cost_along(subject, columns) > policy.MUCH_ARITHMETIC
        are_few = _results(subject) <= subject.options.processors
        return policy.FEW_COSTLY_ROWS if is_costly and are_few else policy.ROWS
    if _is_walked_by_warp(subject, columns):
        return policy.WALKED_BY_WARP
    table = _rows_again(subject, columns)
    is_long = columns.size >= table[0][0]
    if is_long and has_weights(subject, columns) and not _is_aligned(subject, columns):
        return policy.ROWS_AGAIN_ANYWHERE
    return next(share for least, share in table if columns.size >= least)


def _rows_again(subject: Subject, columns: Coordinate) -> tuple[tuple[int, Share], ...]:
    """Shares of rows that are walked more than once, by their lengths."""
    if _has_exponentials(subject):
        return policy.ROWS_OF_EXPONENTIALS
    least, most = (n * subject.options.processors for n in policy.FEW_ROUNDS)
    is_between = least < _results(subject) < most
    if is_between:
        return policy.ROWS_OF_FEW_ROUNDS
    has_several = len(subject.reductions) > 1
    if has_several and _bytes_along(subject, columns) <= policy.NARROW_BYTES:
        return policy.SEVERAL_NARROW_SUMS_AGAIN
    return policy.ROWS_AGAIN


def _has_exponentials(subject: Subject) -> bool:
    return any(node.name == EXPONENTIALS for node in subject.reductions)


def _is_aligned(subject: Subject, columns: Coordinate) -> bool:
    """Whether most of what is read and written begins where a wide access may."""
    own = Block(columns, policy.ROWS_AGAIN_ANYWHERE.elements, is_looped=True)
    return _peeling(subject, (own,)) is None


def _fits_registers(subject: Subject, columns: Coordinate) -> bool:
    """True where a row can be held, and held for something."""
    if not isinstance(columns.size, int):
        return False
    if "held" in subject.source.tuning:
        return bool(subject.source.tuning["held"])
    if len(subject.formula.reduced) > 1:
        return columns.size <= policy.WHOLE_OF_SEVERAL
    if rounds(subject.formula, subject.reductions) == 1:
        is_short = columns.size <= policy.SINGLE_ROW
        return is_short and not _are_many_sums(subject, columns)
    if _is_walked_by_warp(subject, columns):
        return False
    if _results(subject) <= subject.options.processors:
        return columns.size <= policy.REGISTER_ROW
    own = policy.power_of_two(columns.size)
    has_exponentials = _has_exponentials(subject)
    if columns.size >= policy.LEAST_WALKED and not has_exponentials:
        if (own - columns.size) * policy.OUTSIDE_SHARE >= own:
            return False
    arrays = _arrays(subject, columns)
    held = policy.REGISTER_EXPONENTIALS if has_exponentials else policy.REGISTER_ROW
    return own * max(len(arrays), 1) <= held


def _rows_in_registers(subject: Subject, own: Block, share: Share) -> Blocks:
    """A row, or several where they are short."""
    space = share.elements // own.size
    if not subject.formula.parallel or space < 2:
        return (own,)
    rows = columns_of(subject, subject.formula.parallel)
    if own.size >= policy.THREADS * 4 and is_gathered(subject, rows):
        return (own,)
    height = _height(subject, rows, space)
    return (Block(rows, height), own) if height > 1 else (own,)


def _bytes_along(subject: Subject, columns: Coordinate) -> int:
    """Bytes of the largest elements that are loaded along a coordinate."""
    sizes = [
        subject.source.buffers[node.buffer].element.bytes
        for node in subject.loads
        if is_constant(node.offset.coefficient(columns), 1)
    ]
    return max(sizes, default=policy.ACCESS_BYTES)


def _both_reduced(own: Block, rows: Coordinate, share: Share) -> Blocks:
    """A block over two reduced coordinates: short columns, looping over the rows."""
    space = share.elements // own.size
    if space < 2:
        return (own,)
    height = min(space, policy.power_of_two(known(rows.size, space)))
    is_looped = not (isinstance(rows.size, int) and rows.size <= height)
    return (Block(rows, height, is_looped), own)


def _height(subject: Subject, rows: Coordinate, space: int) -> int:
    """Rows of a program: fewer where processors would be idle."""
    parallel = _results(subject)
    height = min(space, policy.power_of_two(known(rows.size, space)))
    while height > 1 and parallel // height < 2 * subject.options.processors:
        height //= 2
    return height


def _column_blocks(
    subject: Subject, columns: Coordinate | None
) -> tuple[Blocks, Share]:
    """Blocks of a reduction across memory: results lie in the columns' dim."""
    share = shared_out(subject, _column_share(subject), columns)
    if columns is None:
        return (), share
    reduced = subject.formula.reduced
    width = policy.block_of(columns.size, policy.RESULTS)
    if not reduced:
        return (Block(columns, width),), share
    rows = reduced[-1]
    length = policy.power_of_two(known(rows.size, share.elements))
    if _are_few_columns(subject, columns):
        return _few_column_blocks(subject, rows, columns)
    if isinstance(rows.size, int) and len(reduced) == 1:
        limit = policy.WHOLE_COLUMN if _reads_again(subject) else 0
        if length <= max(limit, share.elements // width):
            narrow = max(policy.REGISTER_ROW // length, 2)
            blocks = (Block(rows, length), Block(columns, min(width, narrow)))
            return blocks, shared_out(subject, policy.HELD_COLUMNS, columns)
    height = max(min(length, share.elements // width), 2)
    return (Block(rows, height, is_looped=True), Block(columns, width)), share


def _are_few_columns(subject: Subject, columns: Coordinate) -> bool:
    """True where columns are read once, and wide blocks would leave threads idle."""
    reduced, processors = subject.formula.reduced, subject.options.processors
    if len(reduced) != 1 or _reads_again(subject):
        return False
    results = product(c.size for c in subject.formula.parallel)
    if not (isinstance(results, int) and isinstance(reduced[0].size, int)):
        return False
    if results >= policy.FEW_BLOCKS * processors * policy.RESULTS:
        return False
    height = policy.FEW_NARROW.elements // policy.FEW_NARROW_COLUMNS
    if reduced[0].size <= policy.FEW_STEPS * height:
        return True
    fills = results >= processors * policy.FEW_NARROW_COLUMNS
    return fills and _cost_along(subject, columns) > policy.MUCH_ARITHMETIC


def _few_column_blocks(
    subject: Subject, rows: Coordinate, columns: Coordinate
) -> tuple[Blocks, Share]:
    """Narrow blocks of columns, whole where they are short."""
    share = shared_out(subject, policy.FEW_NARROW, columns)
    width = policy.block_of(columns.size, policy.FEW_NARROW_COLUMNS)
    height = max(share.elements // width, 2)
    length = policy.power_of_two(rows.size)
    is_looped = length > height
    own = Block(rows, min(length, height), is_looped)
    return (own, Block(columns, width)), share


def _column_share(subject: Subject) -> Share:
    fills = _results(subject) >= policy.RESULTS * subject.options.processors
    return policy.COLUMNS if fills else policy.FEW_COLUMNS


def _results(subject: Subject) -> int:
    """How many results there are, about."""
    parallel = subject.formula.parallel
    return product(known(c.size, policy.GUESSED_SIZE) for c in parallel)


def _reads_again(subject: Subject) -> bool:
    """True where a walk over the reduced coordinates is followed by another."""
    return rounds(subject.formula, subject.reductions) > 1
