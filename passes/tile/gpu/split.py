"""Splits reductions with few results over the processors of a GPU.

As on CPUs (``tile.split``): a grid of parts that leaves partial results in a
workspace, and a grid that combines them, for each round of reductions.
"""

from collections.abc import Sequence
from dataclasses import replace

from girih.dialects.dims import ceildiv, maximum
from girih.passes.tile.domain import Store, reachable
from girih.passes.tile.gpu import policy
from girih.passes.tile.gpu.one_pass import rounds
from girih.passes.tile.gpu.plan import Block, BlockGrid
from girih.passes.tile.index import Coordinate
from girih.passes.tile.nodes import LoadNode, ReduceNode
from girih.passes.tile.plan import Axis, Local, Pass
from girih.passes.tile.sizes import Size, known, product
from girih.passes.tile.split import Cut, Splitter
from girih.passes.tile.subject import Subject

# A part has at least so many elements: fewer are not worth another launch. Dice loss of
# 32 x 65536 in bf16 16.1 us, with 16384 18.8; a masked mean of 2 x 77 x 4096 in f16
# with 4096 10.7 instead of 8.3 (H100, 2026-11-27).
LEAST_ELEMENTS = 8192
# So many where those are worth it, and leave processors without a program. Cross
# entropy in f32 of 2 x 128256 7.1 us, in parts of 8192 8.3, smoothed of 4 x 128256 11.5
# (13.2). But dice loss of 32 x 65536, in training, of which 8192 make 256 programs,
# 22.6 (21.0) (H200, 2026-11-29).
LEAST_ELEMENTS_OF_FEW = 2048
LEAST_PARTS = 3
# And so many steps of its loop: softmax and argmax of 128 x 50257 in bf16 56.5 us, with
# one step 79.7 (same run).
LEAST_STEPS = 2
MAX_PARTS = 1024
# Partial results in all: a workspace of some megabytes.
MAX_PARTIALS = 1 << 20
# Rows that are read again, as a norm's, take three launches in parts. Those of fewer
# bytes stay whole from a share of the processors on. Layer norm in f16 (H200,
# 2026-11-28) of 32 x 40960 6.4 us, in parts 10.8, of 64 x 40960 6.5 (13.8), of 128 x
# 40960 8.4 (19.4), of 128 x 131072 27.3 (38.9); group norm and SiLU in f16 of 1 x 320 x
# 64 x 64 9.9 (11.0), of 2 x 320 x 64 x 64 9.6 (12.9), of 3 x 256 x 56 x 56 10.2 (13.3).
# In parts are faster: layer norm of 32 x 131072 14.4 us, whole 15.6, softmax in f32 of
# 64 x 40960 14.0 (15.4), of 32 x 131072 17.3 (26.3); group norm of 4 x 256 x 112 x 112,
# whose rows leave much of a block outside, 35.9 (56.4).
WHOLE_BYTES = 98304
OF_PROCESSORS = 5
LARGE_WHOLE_BYTES = 294912
OF_MOST_PROCESSORS = (3, 4)
# Elements of parts' results that a program combines: few where there are few results,
# as warps that share one wait for one another in each round, of which a variance has
# three; else lines of 128 bytes. H200, 2026-11-29, beside programs of 2048 elements:
# batch norm and SiLU of 64 x 16 x 64 x 64 in bf16, 32 parts, 14.3 us, with 256 14.8
# (15.0); dice loss of 32 x 65536 in training, 8 parts, 20.5, with 256 21.0 (20.9);
# gradients of a modulated norm of 1024 x 4096 in f16 28.3, with 256 28.0 (28.1).
COMBINED = 256
COMBINED_OF_FEW = 64
FEW_RESULTS = 1024
# Stands for a symbolic size where the largest coordinate is looked for.
GUESSED_SIZE = 1 << 20


def should_split_blocks(grid: BlockGrid, subject: Subject) -> bool:
    """True where a grid that reduces leaves processors idle and could feed them."""
    if not grid.walks or not grid.passes:
        return False
    programs = product(axis.programs for axis in grid.axes)
    if not isinstance(programs, int) or programs >= subject.options.processors:
        return False
    if _stays_whole(grid, subject, programs):
        return False
    return _limit(grid, subject) > 1 and _parts(_cut(grid, subject)) >= LEAST_PARTS


def _stays_whole(grid: BlockGrid, subject: Subject, programs: int) -> bool:
    """Whether rows that are read again are so short that launches would cost more."""
    is_of_rows = bool(grid.blocks) and grid.blocks[-1].coordinate in grid.reduced
    reduced = frozenset(grid.reduced)
    writes = any(reduced <= store.coordinates for store in subject.formula.stores)
    reads_again = rounds(subject.formula, subject.reductions) > 1
    if not (is_of_rows and writes and reads_again):
        return False
    read = _bytes_of_row(grid, subject)
    processors = subject.options.processors
    if read <= WHOLE_BYTES:
        return programs * OF_PROCESSORS >= processors
    share, whole = OF_MOST_PROCESSORS
    is_one_dim = len(grid.reduced) == 1
    are_most = programs * whole >= share * processors
    return is_one_dim and are_most and read <= LARGE_WHOLE_BYTES


def _bytes_of_row(grid: BlockGrid, subject: Subject) -> int:
    """Bytes that a program's own rows have; more than any where nobody knows."""
    sizes = [known(c.size, GUESSED_SIZE) for c in grid.reduced]
    reduced, own = frozenset(grid.reduced), frozenset(_parallel(grid))
    buffers = {
        load.buffer
        for load in subject.loads
        if reduced <= load.coordinates and own & load.coordinates
    }
    one = sum(subject.source.buffers[number].element.bytes for number in buffers)
    return product(sizes) * one


def split_blocks(
    grid: BlockGrid, subject: Subject
) -> tuple[tuple[BlockGrid, ...], tuple[Local, ...], str]:
    """Replaces one grid by grids of partial and combined reductions.

    Returns:
        The grids, their workspaces, and what was done, for people.
    """
    cut = _cut(grid, subject)
    splitter = BlockSplitter(grid, subject, cut)
    grids = splitter.grids()
    text = f"d{cut.along.key[0]} of {cut.along.size} in {splitter.part.size} parts"
    return grids, tuple(splitter.workspace.locals), text


def _parallel(grid: BlockGrid) -> tuple[Coordinate, ...]:
    return tuple(axis.coordinate for axis in grid.axes)


def _limit(grid: BlockGrid, subject: Subject) -> int:
    """Parts that there are at most; 0 where the number of results is not known."""
    results = product(c.size for c in _parallel(grid))
    if not isinstance(results, int):
        return 0
    programs: int = product(axis.programs for axis in grid.axes)
    own = _parts_of_processor(grid, subject)
    wanted = -(-own * subject.options.processors // programs)
    return max(min(wanted, MAX_PARTS, MAX_PARTIALS // results), 0)


def _parts_of_processor(grid: BlockGrid, subject: Subject) -> int:
    """Programs for each processor: more where each has little in flight."""
    if grid.blocks and grid.blocks[-1].coordinate in grid.reduced:
        return policy.PARTS_OF_PROCESSOR["rows"]
    block = frozenset(own.coordinate for own in grid.blocks)
    buffers = subject.source.buffers
    sizes = [
        buffers[load.buffer].element.bytes
        for load in subject.loads
        if block <= load.coordinates
    ]
    step = max(sizes, default=1) * product(own.size for own in grid.blocks)
    own = policy.PARTS_OF_PROCESSOR["columns"]
    return own if step >= policy.LARGE_STEP_BYTES else 2 * own


def _cut(grid: BlockGrid, subject: Subject) -> Cut:
    """Splits the coordinate whose loop has the most steps."""
    steps = {c: 1 for c in grid.loops}
    steps |= {b.coordinate: b.size for b in grid.blocks if b.is_looped}
    along = max(steps, key=lambda c: known(c.size, GUESSED_SIZE) // steps[c])
    limit = _limit(grid, subject)
    chunk = _chunk(grid, along, steps[along], limit, LEAST_ELEMENTS)
    programs = known(product(axis.programs for axis in grid.axes), GUESSED_SIZE)
    parts = known(ceildiv(along.size, chunk), limit)
    if parts >= LEAST_PARTS and programs * parts < subject.options.processors:
        chunk = _chunk(grid, along, steps[along], limit, LEAST_ELEMENTS_OF_FEW)
    results = product(c.size for c in _parallel(grid))
    return Cut(_parallel(grid), results, along, chunk, limit)


def _chunk(
    grid: BlockGrid, along: Coordinate, unit: int, limit: int, elements: int
) -> Size:
    """Values of the coordinate in a part: whole blocks, and enough of them.

    Args:
        grid: That is split.
        along: The coordinate.
        unit: Values of it in a step.
        limit: Parts, at most.
        elements: Of a part, at least.
    """
    others = [c for c in grid.loops if c != along]
    step = product(known(c.size, policy.GUESSED_SIZE) for c in others)
    step *= product(_walked(block, along) for block in grid.blocks)
    least = unit * max(-(-elements // max(step, 1)), LEAST_STEPS)
    chunk = maximum(least, ceildiv(along.size, limit))
    if isinstance(along.size, int):
        chunk = max(least, -(-along.size // limit))
    return ceildiv(chunk, unit) * unit


def _walked(block: Block, along: Coordinate) -> int:
    """Elements along a dim of the block that a program walks for one step."""
    if not block.is_looped or block.coordinate == along:
        return block.size
    return max(known(block.coordinate.size, policy.GUESSED_SIZE), block.size)


def _parts(cut: Cut) -> int:
    return known(ceildiv(cut.along.size, cut.chunk), cut.parts_limit)


class BlockSplitter(Splitter):
    """Makes grids of blocks over parts, and over the parts' results."""

    def partial_grid(self, walk: Pass, partials) -> BlockGrid:
        """Programs for each part of each block of results."""
        own, stores = self.partial_stores(walk, partials)
        grid = replace(
            self.grid,
            axes=(*self.grid.axes, Axis(self.cut.along, self.cut.chunk, self.part)),
            passes=(own,),
            stores=stores,
            substitutes=tuple(self.known.values()),
        )
        for store in walk.stores:
            self._load_later(store)
        return grid

    def _load_later(self, store: Store) -> None:
        """Has later grids load a result that takes several loads to compute again.

        A gradient that flows two ways, say, which a normalisation's backward pass sums
        up and then uses. What is stored is what eager stores, rounded as there.
        """
        node, buffer = store.node, self.source.buffers[store.buffer]
        needed = [n for n in reachable((store,)) if isinstance(n, LoadNode)]
        large = [n for n in needed if n.coordinates == node.coordinates]
        if len(large) > 1 and node.element == buffer.element:
            load = LoadNode(node.element, buffer=store.buffer, offset=store.offset)
            self.known[node.number] = (node, self.table.add(load, store.location))

    def combining_grid(self, walk: Pass, partials, is_last: bool) -> BlockGrid:
        """Programs that hold all parts of some results."""
        _, stores, substitutes = self.combine(walk, partials, is_last)
        finished = stores[len(stores) - len(walk.reductions) :]
        count = known(self.part.size, self.cut.parts_limit)
        parts = Block(self.part, policy.power_of_two(count))
        blocks = (parts,)
        if self.parallel:
            are_few = known(self.results, GUESSED_SIZE) < FEW_RESULTS
            most = COMBINED_OF_FEW if are_few else COMBINED
            columns = self.parallel[-1]
            limit = min(max(most // parts.size, 2), policy.RESULTS)
            size = policy.block_of(columns.size, limit)
            blocks = (parts, Block(columns, size))
        sizes = {block.coordinate: block.size for block in blocks}
        return replace(
            self.grid,
            axes=tuple(Axis(c, sizes.get(c)) for c in self.parallel),
            blocks=blocks,
            group=1,
            peeling=None,
            loops=(),
            reduced=(self.part,),
            passes=self._rounds(finished),
            stores=stores,
            substitutes=substitutes,
            work=self.part.size * self.results,
            warps=policy.warps_of(product(block.size for block in blocks)),
        )

    @staticmethod
    def _rounds(finished: Sequence[Store]) -> tuple[Pass, ...]:
        """The reductions of parts' results, by how many come before them."""
        found = [n for n in reachable(finished) if isinstance(n, ReduceNode)]
        levels = range(1, max(node.level for node in found) + 1)
        return tuple(
            Pass(tuple(n for n in found if n.level == level), (), (), 0)
            for level in levels
        )
