"""Tiles of products of matrices: numbers with their reasons, no mechanism."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from girih.passes.tile.gpu import policy

# Tensor cores take at least so many rows, columns and summands.
LEAST_SIDE = 16
# Fewer multiplications than this per element read are bound by memory: no tiles.
LEAST_ROWS = 2
# A part of a split sum has at least so many blocks: fewer don't fill the pipeline.
LEAST_STEPS = 4
MAX_SPLITS = 32
# Partial results of split sums: 16 MB, which stay in the second-level cache.
MAX_PARTIALS = 1 << 22


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


# (rows up to, tiling for 16-bit elements): skinny products are bound by reading b, so
# their blocks are deep; large ones fill the shared memory of an H100 with 3 stages.
_BY_ROWS = (
    (16, Tiling(16, 64, 256, 4, 4)),
    (32, Tiling(32, 64, 128, 4, 5)),
    (64, Tiling(64, 128, 64, 4, 4)),
    (128, Tiling(128, 128, 64, 8, 4)),
)
_LARGE = Tiling(128, 256, 64, 8, 3)


def tiling_of(
    rows: int, columns: int, depth: int, batch: int, bits: int, processors: int
) -> Tiling:
    """The tiling for a product of these sizes."""
    found = next((tiling for limit, tiling in _BY_ROWS if rows <= limit), _LARGE)
    while found.rows > 64 and _tiles(found, rows, columns, batch) < processors:
        found = _smaller(found)
    side = policy.power_of_two(columns)
    found = replace(found, columns=max(min(found.columns, side), LEAST_SIDE))
    deep = found.depth * 16 // max(bits, 16)
    deep = max(min(deep, policy.power_of_two(depth)), LEAST_SIDE)
    found = replace(found, depth=deep)
    tiles = _tiles(found, rows, columns, batch)
    results = rows * columns * batch
    return replace(found, splits=_splits(found, tiles, results, depth, processors))


def _smaller(tiling: Tiling) -> Tiling:
    if tiling.columns > 128:
        return replace(tiling, columns=128, stages=4)
    return replace(tiling, rows=tiling.rows // 2, warps=4)


def _tiles(tiling: Tiling, rows: int, columns: int, batch: int) -> int:
    return -(-rows // tiling.rows) * -(-columns // tiling.columns) * batch


def _splits(
    tiling: Tiling, tiles: int, results: int, depth: int, processors: int
) -> int:
    """Parts of the sum, where there are processors left for them."""
    steps = -(-depth // tiling.depth)
    wanted = min(2 * processors // tiles, steps // LEAST_STEPS, MAX_SPLITS)
    return max(min(wanted, MAX_PARTIALS // results), 1)


def tuned(tiling: Tiling, tuning: Mapping[str, int]) -> Tiling:
    """The tiling with what a measurement chose (``girih.tuning`` of the kernel)."""
    known = {field.name for field in fields(Tiling)}
    return replace(tiling, **{k: v for k, v in tuning.items() if k in known})


# What max-autotune tries beside the tiling of the policy.
CANDIDATES = (
    Tiling(128, 256, 64, 8, 3),
    Tiling(128, 256, 64, 8, 4),
    Tiling(256, 128, 64, 8, 3),
    Tiling(128, 128, 64, 4, 4),
    Tiling(128, 128, 64, 8, 4),
    Tiling(128, 128, 128, 8, 3),
    Tiling(64, 256, 64, 4, 4),
    Tiling(64, 128, 64, 4, 4),
    Tiling(64, 64, 64, 4, 5),
    Tiling(64, 64, 128, 4, 4),
    Tiling(32, 128, 128, 4, 4),
    Tiling(32, 64, 256, 4, 3),
    Tiling(16, 128, 128, 4, 5),
    Tiling(16, 64, 256, 4, 4),
    Tiling(16, 32, 512, 4, 3),
)
