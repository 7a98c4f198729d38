"""The schedule of a product of matrices on tensor cores."""

from dataclasses import dataclass, replace

from girih.passes.tile.choose import split_passes
from girih.passes.tile.contraction import (
    CHOSEN,
    Contraction,
    Coordinates,
    Product,
    contraction_of,
)
from girih.passes.tile.gpu import contraction_policy as tilings
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.contraction_policy import Shape, Tiling
from girih.passes.tile.gpu.coordinates import columns_of
from girih.passes.tile.gpu.plan import Block, BlockGrid
from girih.passes.tile.index import Coordinate
from girih.passes.tile.plan import Axis, SchedulePlan
from girih.passes.tile.sizes import Size, known, product
from girih.passes.tile.split import Cut, Splitter
from girih.passes.tile.subject import Subject

_ONE_ROW = Coordinate((-2, 0), 1)
# Parts of a sum, and results next to each other, that one program combines.
COMBINED_COLUMNS = 128


@dataclass(frozen=True, slots=True)
class ContractionGrid(BlockGrid):
    """A grid whose programs compute blocks of products.

    ``blocks`` are the dims of a block of results, rows before columns.

    Attributes:
        products: what is summed up.
        depth: the block of summands.
        group: rows of blocks that are walked through together.
    """

    products: tuple[Product, ...]
    depth: Block
    group: int


def choose_contraction(subject: Subject) -> SchedulePlan | None:
    """The schedule of a kernel that is a product; None where tiles do not suit it."""
    found = contraction_of(subject)
    if found is None or not _is_worth_tiles(found, subject):
        return None
    found = _with_rows(found)
    tiling = _tiling(found, subject)
    grid = _grid(found, tiling, subject)
    reason = _text(found, tiling)
    if tiling.splits == 1:
        return SchedulePlan("product", reason, (grid,), (), is_blocked=True)
    splitter = ContractionSplitter(grid, subject, _cut(found, grid, tiling))
    grids, locals_ = splitter.grids(), tuple(splitter.workspace.locals)
    plan = SchedulePlan("split product", reason, grids, locals_)
    return replace(plan, is_blocked=True)


def _with_rows(found: Contraction) -> Contraction:
    """The product with one row where it has none: a dim that nothing varies over."""
    return found if found.rows else replace(found, rows=(_ONE_ROW,))


def _is_worth_tiles(found: Contraction, subject: Subject) -> bool:
    """False for products of few elements, and those with a vector that none chose."""
    rows, columns = size_of(found.rows), size_of(found.columns)
    tuning = set(subject.source.tuning)
    is_row = tuning == {CHOSEN} and rows == 1
    if is_row and (found.bits == 32 or _is_along_depth(found, subject)):
        return False
    if {CHOSEN, "rows"} & tuning:
        return True
    narrow = min(rows, columns)
    wide = max(rows, columns)
    least = tilings.LEAST_SIDE
    return (
        narrow >= tilings.LEAST_ROWS and wide >= least and size_of(found.depth) >= least
    )


def _is_along_depth(found: Contraction, subject: Subject) -> bool:
    """Whether the matrix that a vector is multiplied by has its summands side by side.

    Each result is the sum of a row of memory then. A schedule of rows reads it at 1.1
    to 1.3 times the speed of blocks for tensor cores, whose rows would be idle but one
    (H100, 2026-11-26).
    """
    return columns_of(subject, (*found.columns, *found.depth)) in found.depth


def shape_of(found: Contraction, subject: Subject) -> Shape:
    """The sizes of a product; symbolic ones are guessed."""
    return Shape(
        rows=known(_widest(found.rows).size, policy.GUESSED_SIZE),
        columns=known(_widest(found.columns).size, policy.GUESSED_SIZE),
        depth=known(_widest(found.depth).size, policy.GUESSED_SIZE),
        batch=size_of(_outside(found)),
        count=len(found.products),
        bits=found.bits,
        processors=subject.options.processors,
        shared_bytes=subject.options.shared_bytes,
        is_along_depth=_is_along_depth(found, subject),
    )


def size_of(coordinates: Coordinates) -> int:
    """The product of sizes, with a guess for those that are not known."""
    return product(known(c.size, policy.GUESSED_SIZE) for c in coordinates)


def _tiling(found: Contraction, subject: Subject) -> Tiling:
    shape = shape_of(found, subject)
    tiling = tilings.tuned(tilings.tiling_of(shape), subject.source.tuning)
    if not subject.choices.are_usual:
        tiling = subject.pick("tiling", tiling, [tiling, *tilings.candidates(shape)])
    return tiling if _can_split(found) else replace(tiling, splits=1)


def _can_split(found: Contraction) -> bool:
    """A workspace has a size that is known when the kernel is compiled."""
    every = found.batch + found.rows + found.columns + found.depth
    return all(isinstance(c.size, int) for c in every)


def _widest(coordinates: tuple[Coordinate, ...]) -> Coordinate:
    """The coordinate that a dim of the block lies along: the longest, innermost."""
    return max(reversed(coordinates), key=lambda c: known(c.size, policy.GUESSED_SIZE))


def _outside(found: Contraction) -> tuple[Coordinate, ...]:
    """What is spread over the grid, one value for each program, outermost first."""
    inside = {_widest(found.rows), _widest(found.columns)}
    every = found.batch + found.rows + found.columns
    return tuple(c for c in every if c not in inside)


def _grid(found: Contraction, tiling: Tiling, subject: Subject) -> ContractionGrid:
    formula = subject.formula
    depth = Block(_widest(found.depth), tiling.depth, is_looped=True)
    blocks = (
        Block(_widest(found.rows), tiling.rows),
        Block(_widest(found.columns), tiling.columns),
    )
    passes, final = split_passes(formula, subject.reductions, formula.reduced)
    return ContractionGrid(
        axes=(
            *(Axis(c) for c in _outside(found)),
            *(Axis(block.coordinate, block.size) for block in blocks),
        ),
        blocks=blocks,
        loops=tuple(c for c in found.depth if c != depth.coordinate),
        reduced=formula.reduced,
        passes=passes,
        stores=final,
        substitutes=(),
        work=_touched(found),
        warps=tiling.warps,
        stages=tiling.stages,
        products=found.products,
        depth=depth,
        group=tiling.group,
    )


def _touched(found: Contraction) -> Size:
    """Elements of all operands and results."""
    batch, rows, columns, depth = (
        product(c.size for c in part)
        for part in (found.batch, found.rows, found.columns, found.depth)
    )
    sides = rows * depth + depth * columns + rows * columns
    return batch * sides * len(found.products)


def _text(found: Contraction, tiling: Tiling) -> str:
    sizes = [
        " x ".join(str(c.size) for c in part) or "1"
        for part in (found.batch, found.rows, found.columns, found.depth)
    ]
    count = len(found.products)
    parts = "" if tiling.splits == 1 else f", sums in {tiling.splits} parts"
    blocks = f"{tiling.rows} x {tiling.columns} x {tiling.depth}"
    return (
        f"{count} of {sizes[1]} by {sizes[2]}, sums of {sizes[3]}, batches of"
        f" {sizes[0]}; blocks of {blocks}, {tiling.warps} warps, {tiling.stages}"
        f" stages, groups of {tiling.group}{parts}"
    )


# Split sums -------------------------------------------------------------------------


def _cut(found: Contraction, grid: ContractionGrid, tiling: Tiling) -> Cut:
    parallel = tuple(axis.coordinate for axis in grid.axes)
    along = grid.depth.coordinate
    steps = -(-along.size // tiling.depth)
    chunk = -(-steps // tiling.splits) * tiling.depth
    parts = -(-along.size // chunk)
    return Cut(parallel, product(c.size for c in parallel), along, chunk, parts)


class ContractionSplitter(Splitter):
    """Makes a grid for the parts of sums of products, and one that adds them up."""

    def partial_grid(self, walk, partials) -> ContractionGrid:
        """Programs for each part of each block of results."""
        own, stores = self.partial_stores(walk, partials)
        *outside, rows, columns = self.grid.axes
        part = Axis(self.cut.along, self.cut.chunk, self.part)
        axes = (*outside, part, rows, columns)
        return replace(self.grid, axes=axes, passes=(own,), stores=stores)

    def combining_grid(self, walk, partials, is_last: bool) -> BlockGrid:
        """Programs that hold all parts of some results."""
        combined, stores, substitutes = self.combine(walk, partials, is_last)
        parts = Block(self.part, policy.power_of_two(known(self.part.size, 2)))
        last = self.parallel[-1]
        columns = Block(last, policy.block_of(last.size, COMBINED_COLUMNS))
        return BlockGrid(
            axes=(
                *(Axis(coordinate) for coordinate in self.parallel[:-1]),
                Axis(columns.coordinate, columns.size),
            ),
            blocks=(parts, columns),
            loops=(),
            reduced=(self.part,),
            passes=(combined,),
            stores=stores,
            substitutes=substitutes,
            work=self.part.size * self.results,
            warps=policy.warps_of(parts.size * columns.size),
            stages=self.grid.stages,
        )
