"""Tiles of products of matrices: numbers with their reasons, no mechanism."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from girih.passes.tile.gpu import policy

# Tensor cores take at least so many rows, columns and summands.
LEAST_SIDE = 16
# Products with a vector are reductions: tiles would be mostly empty.
LEAST_ROWS = 2
# Rows up to which a product is bound by reading b.
NARROW = 16
# A part of a split sum has at least so many summands, in narrow products and others:
# with fewer, storing and adding up the parts costs more than idle processors (H200,
# 4096 and 14336 summands, 2026-11-20).
LEAST_PARTS = (4096, 2048)
# Partial results of split sums: 16 MB, which stay in the second-level cache.
MAX_PARTIALS = 1 << 22
# What a thread's part of all sums may take of its 255 registers.
LARGEST_SUMS = 128


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a product, and what a device has for it.

    Attributes:
        rows: rows of the results (a guess where they are symbolic).
        columns: columns of the results.
        depth: summands of each result.
        batch: how many products of matrices there are.
        count: products that share a loop.
        bits: the width of the operands' elements.
        processors: streaming multiprocessors of the device.
        shared_bytes: shared memory that a program can have.
        is_along_depth: whether b has its summands side by side in memory, as the
            weights of a linear layer have.
    """

    rows: int
    columns: int
    depth: int
    batch: int
    count: int
    bits: int
    processors: int
    shared_bytes: int
    is_along_depth: bool = True


@dataclass(frozen=True, slots=True)
class Tiling:
    """How a product is cut into programs.

    Attributes:
        rows: rows of a program's block of results.
        columns: columns of it.
        depth: summands of a step.
        warps: warps of a program.
        stages: steps whose loads are in flight.
        group: rows of blocks that programs walk through together, so that what they
            read stays in the second-level cache.
        splits: parts of the sum, each computed by programs of its own.
    """

    rows: int
    columns: int
    depth: int
    warps: int
    stages: int
    group: int = 8
    splits: int = 1

    def shared_bytes(self, shape: Shape) -> int:
        """Shared memory of the operands' blocks in flight."""
        step = self.rows + shape.count * self.columns
        return step * self.depth * shape.bits // 8 * self.stages

    def sums(self, shape: Shape) -> int:
        """Sums that a thread holds."""
        threads = self.warps * policy.THREADS
        return self.rows * self.columns * shape.count // threads


# (rows up to, tiling for 16-bit elements): skinny products are bound by reading b, so
# their blocks are deep; large ones fill the shared memory of an H100 with 3 stages.
_BY_ROWS = (
    (32, Tiling(32, 64, 128, 4, 5)),
    (64, Tiling(64, 128, 64, 4, 4)),
    (128, Tiling(128, 128, 64, 8, 4)),
)
# Narrow ones: few warps with much in flight, and a program for each processor. H100,
# 2026-11-26, torch 2.11, Triton 3.6, bfloat16, weights not in the cache, in a CUDA
# graph, us, with 4 and with 16 rows: 2048 columns of 2048 summands 5.5 and 5.9 (blocks
# of 32 x 256 6.3 and 6.8, cuBLAS 6.0 and 6.5), of 8192 summands 14.8 and 15.2 (15.4 and
# 16.3, cuBLAS 17.8 and 18.2).
_FEW_COLUMNS = Tiling(16, 16, 512, 2, 4)
# More columns, short sums: two of 8192 by 2048 25.5 and 26.2 (64 x 128 27.0 and 27.0,
# cuBLAS 29.6 and 29.8).
_SHORT_SUMS = Tiling(16, 32, 128, 2, 4)
# 4096 by 4096 13.8 and 14.4 (64 x 128 14.6 and 14.7, cuBLAS 16.0 and 16.3); two of
# 14336 by 4096 83.0 and 85.0 (84.8 and 85.6, cuBLAS 86.1 and 88.4).
_LONG_SUMS = Tiling(16, 32, 256, 2, 5)
SHORT_DEPTH = 2048
# Where b has its columns side by side, 16 of them are a short piece of memory: sums of
# 8192 with 16 rows take 19.1 with `_FEW_COLUMNS` and 16.6 with this, in two parts.
_FEW_ROW_MAJOR = Tiling(16, 32, 256, 4, 5)
_LARGE = Tiling(128, 256, 64, 8, 3, 16)
# Not on tensor cores (but with tf32): each thread computes a square of 2 x 4 results.
_PRECISE = Tiling(32, 32, 64, 4, 2)


def tiling_of(shape: Shape) -> Tiling:
    """The tiling for a product."""
    if shape.bits == 32:
        return fitted(_PRECISE, shape)
    tilings = (tiling for limit, tiling in _BY_ROWS if shape.rows <= limit)
    found = _narrow(shape) if shape.rows <= NARROW else next(tilings, _LARGE)
    while found.rows > 64 and _tiles(found, shape) < shape.processors:
        found = _smaller(found)
    if found.rows == 64 and _tiles(found, shape) * 4 < shape.processors * 3:
        found = Tiling(64, 64, 128, 4, 4)
    found = fitted(found, shape)
    return replace(found, splits=_splits(found, shape))


def _narrow(shape: Shape) -> Tiling:
    """The tiling for few rows."""
    is_short = shape.depth <= SHORT_DEPTH
    if _tiles(_FEW_COLUMNS, shape) <= shape.processors:
        is_narrow_read = shape.is_along_depth or is_short
        return _FEW_COLUMNS if is_narrow_read else _FEW_ROW_MAJOR
    return _SHORT_SUMS if is_short else _LONG_SUMS


def _smaller(tiling: Tiling) -> Tiling:
    if tiling.columns > 128:
        return replace(tiling, columns=128, stages=4)
    return replace(tiling, rows=tiling.rows // 2, warps=4)


def fitted(tiling: Tiling, shape: Shape) -> Tiling:
    """A tiling cut down to a product, and to the device's memory and registers."""
    widest = max(policy.power_of_two(shape.columns), LEAST_SIDE)
    deepest = max(policy.power_of_two(shape.depth), LEAST_SIDE)
    tiling = replace(
        tiling,
        columns=min(tiling.columns, widest),
        depth=max(min(tiling.depth * 16 // shape.bits, deepest), LEAST_SIDE),
    )
    while tiling.sums(shape) > LARGEST_SUMS and tiling.columns > LEAST_SIDE:
        tiling = replace(tiling, columns=tiling.columns // 2)
    while tiling.shared_bytes(shape) > shape.shared_bytes and tiling.stages > 1:
        tiling = replace(tiling, stages=tiling.stages - 1)
    return tiling


def _tiles(tiling: Tiling, shape: Shape) -> int:
    rows, columns = -(-shape.rows // tiling.rows), -(-shape.columns // tiling.columns)
    return rows * columns * shape.batch


def _splits(tiling: Tiling, shape: Shape) -> int:
    """Parts of the sum, where there are processors left for them."""
    least = LEAST_PARTS[shape.rows > NARROW]
    wanted = min(shape.processors // _tiles(tiling, shape), shape.depth // least)
    results = shape.rows * shape.columns * shape.batch * shape.count
    return max(min(wanted, MAX_PARTIALS // results), 1)


def tuned(tiling: Tiling, tuning: Mapping[str, int]) -> Tiling:
    """The tiling with what a measurement chose (``girih.tuning`` of the kernel)."""
    known = {field.name for field in fields(Tiling)}
    return replace(tiling, **{k: v for k, v in tuning.items() if k in known})


# What max-autotune tries beside the tiling of the policy.
_CANDIDATES = (
    Tiling(128, 256, 64, 8, 3),
    Tiling(128, 256, 64, 8, 3, 16),
    Tiling(128, 256, 64, 8, 4, 16),
    Tiling(256, 128, 64, 8, 3),
    Tiling(128, 128, 64, 4, 4),
    Tiling(128, 128, 64, 8, 3),
    Tiling(128, 128, 64, 8, 4),
    Tiling(64, 256, 64, 4, 4),
    Tiling(64, 128, 64, 4, 4),
    Tiling(64, 64, 128, 4, 4),
    Tiling(32, 128, 128, 4, 4),
    Tiling(32, 64, 256, 4, 3),
    Tiling(16, 128, 64, 4, 6),
    Tiling(16, 64, 128, 4, 4),
    Tiling(16, 32, 128, 4, 6),
    Tiling(16, 32, 256, 4, 5),
    Tiling(16, 32, 256, 2, 3),
    Tiling(16, 16, 256, 2, 4),
    Tiling(16, 16, 512, 2, 4),
    Tiling(16, 32, 128, 2, 4),
    Tiling(16, 32, 256, 2, 5),
    Tiling(16, 64, 128, 2, 3),
)
# Blocks whose rows would be mostly empty, or far too many, are not tried.
_LEAST_TILES = 64


def candidates(shape: Shape) -> list[Tiling]:
    """The tilings worth measuring for a product, the policy's first."""
    found = {tiling_of(shape): None}
    height = max(policy.power_of_two(shape.rows), LEAST_SIDE)
    for tiling in _CANDIDATES:
        is_small = tiling.rows < 64 and tiling.rows < height
        is_lonely = _tiles(tiling, shape) < _LEAST_TILES and tiling.rows > 64
        if tiling.rows > height or is_small or is_lonely:
            continue
        tiling = fitted(tiling, shape)
        for splits in (1, 2, 4):
            if splits == 1 or _may_split(tiling, shape, splits):
                found[replace(tiling, splits=splits)] = None
    return list(found)


def _may_split(tiling: Tiling, shape: Shape, splits: int) -> bool:
    results = shape.rows * shape.columns * shape.batch * shape.count
    steps = -(-shape.depth // tiling.depth)
    has_room = _tiles(tiling, shape) * splits <= 2 * shape.processors
    return has_room and steps >= 4 * splits and results * splits <= MAX_PARTIALS
