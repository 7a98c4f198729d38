"""Sizes of blocks, warps and stages of attention kernels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace

from girih.passes.tile.gpu.policy import power_of_two
from girih.passes.tile.sizes import Size, known

# The smallest side of a product on tensor cores.
SMALLEST_SIDE = 16


@dataclass(frozen=True, slots=True)
class Sizes:
    """How a grid of an attention kernel runs.

    Attributes:
        rows, columns: queries and keys of a block.
        warps: warps of a program.
        stages: loads that its loop has in flight.
    """

    rows: int
    columns: int
    warps: int
    stages: int

    @property
    def text(self) -> str:
        """The sizes, for people."""
        blocks = f"blocks of {self.rows} x {self.columns}"
        return f"{blocks}, {self.warps} warps, {self.stages} stages"

    def tuned(self, tuning: Mapping[str, int], grid: str) -> "Sizes":
        """These sizes, or those that tuning says for a grid of this name."""
        names = [each.name for each in fields(Sizes)]
        given = {n: tuning[f"{grid}_{n}"] for n in names if f"{grid}_{n}" in tuning}
        return replace(self, **given)

    def as_tuning(self, grid: str) -> dict[str, int]:
        """The sizes as tuning of a grid."""
        return {
            f"{grid}_{each.name}": getattr(self, each.name) for each in fields(Sizes)
        }


# By the bytes of a head. Measured on an H200 (2026-11-20), soft-capped and causal
# attention in bf16 over 2048 positions: 32 heads of 64 or of 128, 8 heads of 256.
_FORWARD = (
    (128, Sizes(64, 64, 4, 3)),
    (256, Sizes(64, 64, 4, 3)),
    (512, Sizes(128, 64, 8, 2)),
    (1024, Sizes(64, 32, 4, 2)),
)
# Programs that have a block of keys: gradients of keys and values.
_BY_COLUMNS = (
    (128, Sizes(128, 64, 4, 2)),
    (256, Sizes(64, 64, 4, 2)),
    (512, Sizes(64, 32, 4, 1)),
    (1024, Sizes(16, 16, 4, 1)),
)
# Programs that have a block of queries: gradients of queries.
_BY_ROWS = (
    (128, Sizes(64, 128, 4, 3)),
    (256, Sizes(64, 64, 4, 2)),
    (512, Sizes(64, 32, 4, 1)),
    (1024, Sizes(16, 16, 4, 1)),
)


# What is tried beside these where kernels are tuned.
_ALTERNATIVES = {
    "rows": (
        Sizes(64, 64, 4, 3),
        Sizes(64, 64, 4, 2),
        Sizes(64, 128, 4, 2),
        Sizes(128, 64, 4, 3),
        Sizes(128, 64, 8, 3),
        Sizes(128, 64, 8, 2),
        Sizes(128, 128, 8, 2),
    ),
    "keys": (
        Sizes(64, 64, 4, 3),
        Sizes(64, 64, 4, 2),
        Sizes(64, 64, 8, 2),
        Sizes(64, 128, 4, 2),
        Sizes(128, 64, 4, 2),
        Sizes(64, 32, 4, 1),
    ),
    "queries": (
        Sizes(64, 64, 4, 3),
        Sizes(64, 64, 4, 2),
        Sizes(64, 64, 8, 2),
        Sizes(64, 128, 4, 3),
        Sizes(128, 64, 8, 2),
        Sizes(64, 32, 4, 1),
    ),
}


def padded(width: int) -> int:
    """The elements of a block's row that holds a head of this width."""
    return max(power_of_two(width), SMALLEST_SIDE)


@dataclass(frozen=True, slots=True)
class Problem:
    """What sizes are chosen for.

    Attributes:
        head_bytes: bytes of a padded head.
        rows, columns: how many queries and keys there are.
        shared_bytes: shared memory that a program can have.
    """

    head_bytes: int
    rows: Size
    columns: Size
    shared_bytes: int

    def forward(self) -> Sizes:
        """Sizes for the forward pass: queries stay, keys and values come by."""
        return self._fitted(_FORWARD, _HELD["rows"])

    def by_columns(self) -> Sizes:
        """Sizes for gradients of keys and values, which stay."""
        return self._fitted(_BY_COLUMNS, _HELD["keys"])

    def by_rows(self) -> Sizes:
        """Sizes for gradients of queries: these stay, and gradients of results."""
        return self._fitted(_BY_ROWS, _HELD["queries"])

    def candidates(self, grid: str) -> list[Sizes]:
        """What to try of a grid of this name, where positions fill the blocks."""
        held, most = _HELD[grid], self.shared_bytes // self.head_bytes
        return [
            sizes
            for sizes in _ALTERNATIVES[grid]
            if held(sizes) <= most
            and sizes.rows <= _side(self.rows, sizes.rows)
            and sizes.columns <= _side(self.columns, sizes.columns)
        ]

    def _fitted(self, table: tuple, held: Callable[[Sizes], int]) -> Sizes:
        """The table's sizes, smaller where there are few positions or little memory.

        ``held`` says how many heads lie in shared memory.
        """
        wanted = next(sizes for limit, sizes in table if self.head_bytes <= limit)
        sizes = replace(
            wanted,
            rows=min(wanted.rows, _side(self.rows, wanted.rows)),
            columns=min(wanted.columns, _side(self.columns, wanted.columns)),
        )
        while held(sizes) * self.head_bytes > self.shared_bytes:
            smaller = _smaller(sizes)
            if smaller == sizes:
                break
            sizes = smaller
        # A warp has 16 rows of a product.
        most = max(sizes.rows, sizes.columns) // SMALLEST_SIDE
        return replace(sizes, warps=min(wanted.warps, most))


# How many heads lie in shared memory: those of blocks that stay, and of stages.
_HELD: dict[str, Callable[[Sizes], int]] = {
    "rows": lambda sizes: sizes.rows + 2 * sizes.stages * sizes.columns,
    "keys": lambda sizes: 2 * (sizes.columns + sizes.stages * sizes.rows),
    "queries": lambda sizes: 2 * (sizes.rows + sizes.stages * sizes.columns),
}


def _smaller(sizes: Sizes) -> Sizes:
    """Fewer loads in flight; then a block of half the size."""
    if sizes.stages > 1:
        return replace(sizes, stages=sizes.stages - 1)
    if sizes.rows >= sizes.columns:
        return replace(sizes, rows=max(sizes.rows // 2, SMALLEST_SIDE))
    return replace(sizes, columns=max(sizes.columns // 2, SMALLEST_SIDE))


def _side(size: Size, guess: int) -> int:
    return max(power_of_two(known(size, guess)), SMALLEST_SIDE)
