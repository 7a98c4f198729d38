"""Sizes of blocks, warps and stages of attention kernels."""

from dataclasses import dataclass

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


# By the bytes of a head: a block of keys and one of values for each stage, and the
# blocks that stay, must fit into 227 KiB of shared memory (100 KiB on small devices).
_FORWARD = (
    (128, Sizes(64, 64, 4, 3)),
    (256, Sizes(128, 64, 8, 2)),
    (512, Sizes(64, 32, 4, 2)),
    (1024, Sizes(32, 16, 4, 1)),
)
# Programs that have a block of keys: gradients of keys and values.
_BY_COLUMNS = (
    (128, Sizes(64, 64, 4, 3)),
    (256, Sizes(64, 64, 8, 1)),
    (512, Sizes(32, 32, 4, 1)),
    (1024, Sizes(16, 16, 4, 1)),
)
# Programs that have a block of queries: gradients of queries.
_BY_ROWS = (
    (128, Sizes(64, 128, 4, 2)),
    (256, Sizes(64, 64, 8, 1)),
    (512, Sizes(32, 32, 4, 1)),
    (1024, Sizes(16, 16, 4, 1)),
)


def padded(width: int) -> int:
    """The elements of a block's row that holds a head of this width."""
    return max(power_of_two(width), SMALLEST_SIDE)


def forward_sizes(head_bytes: int, shape: tuple[Size, ...]) -> Sizes:
    """Sizes for the forward pass of heads that wide, over [.., s, t] positions."""
    return _fitted(_FORWARD, head_bytes, shape)


def key_sizes(head_bytes: int, shape: tuple[Size, ...]) -> Sizes:
    """Sizes for gradients of keys and values."""
    return _fitted(_BY_COLUMNS, head_bytes, shape)


def query_sizes(head_bytes: int, shape: tuple[Size, ...]) -> Sizes:
    """Sizes for gradients of queries."""
    return _fitted(_BY_ROWS, head_bytes, shape)


def _fitted(table: tuple, head_bytes: int, shape: tuple[Size, ...]) -> Sizes:
    """The table's sizes, smaller where there are fewer positions."""
    sizes = next(sizes for limit, sizes in table if head_bytes <= limit)
    rows = min(sizes.rows, _side(shape[-2], sizes.rows))
    columns = min(sizes.columns, _side(shape[-1], sizes.columns))
    warps = sizes.warps if (rows, columns) == (sizes.rows, sizes.columns) else 4
    most = max(rows, columns) // SMALLEST_SIDE
    return Sizes(rows, columns, min(warps, most), sizes.stages)


def _side(size: Size, guess: int) -> int:
    return max(power_of_two(known(size, guess)), SMALLEST_SIDE)
