"""Which products become kernels where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size
from girih.passes.fuse_contractions.epilogue import Group
from girih.passes.fuse_contractions.products import Product

TUNING = "girih.tuning"
LIBRARY = "girih.library"
# Sums of so many times more elements than there are columns are better split, as the
# library does it.
LONG_SUMS = 4
# So few rows leave a product on the CPU to memory, if the other matrix has so many
# elements: it does not fit the second-level cache.
FEW_ROWS = 16
LARGE_MATRIX = 1 << 18
# With fewer rows than that, long sums by a large matrix are left to the library.
MANY_ROWS = 128
LONG_DEPTH = 2048
# Columns of longer sums do not fit the second-level cache.
MOST_SUMMANDS = 8192
# Stands for a symbolic size.
GUESSED_SIZE = 256
PRODUCTS = ("none", "small", "bounded", "all")


@dataclass(frozen=True)
class ContractionOptions:
    """Options of the pass."""

    products: str = "none"
    """Products that become kernels without a measurement: ``none``, ``small``,
    ``bounded`` or ``all``. A product is small if calling the library takes most of its
    time, or if it has few rows, so that reading the other matrix does. It is bounded if
    its elements are f32, its columns and summands known numbers, and one matrix of a
    batch takes at most ``most_multiplications``, or its right operand fits the
    second-level cache."""
    narrow_rows: int = 16
    """Most rows of a product that is small because it has few of them."""
    most_multiplications: int = 1 << 27
    """Most multiplications of a bounded product; symbolic rows are guessed."""
    most_alike: int = 1
    """Most products of few rows, of one left operand and equal sizes, that share a
    kernel though nothing reads them together."""
    computes_left: bool = True
    """Whether kernels may compute left operands. Those on the CPU would do so element
    by element: ``exp(x) @ w`` of 64 x 64 took 30 us, and 10 us with a kernel for
    ``exp`` (AVX-512, one thread, 2026-11-27)."""


def is_chosen(group: Group, options: ContractionOptions) -> bool:
    """Whether products become a kernel.

    Raises:
        ValueError: option ``products`` is none of those that there are.
    """
    if options.products not in PRODUCTS:
        names = ", ".join(PRODUCTS)
        raise ValueError(f"products must be one of {names}, got {options.products!r}")
    first = group.products[0].op
    if TUNING in first.attributes or LIBRARY in first.attributes:
        return TUNING in first.attributes
    if options.products == "small":
        return all(
            each.is_small or _is_narrow(each, options.narrow_rows)
            for each in group.products
        )
    if options.products == "bounded":
        return all(_is_bounded(each, options) for each in group.products)
    return options.products == "all"


def _is_bounded(product: Product, options: ContractionOptions) -> bool:
    """Whether a kernel on the CPU is as fast as the library, or faster.

    Measured on an AMD EPYC with AVX-512 (one thread, 2026-11-27, oneDNN and MKL): up to
    512 x 512 x 512 kernels take 0.6 to 0.98 of the library's time, with 10 columns
    0.22. Few rows by a large matrix take the library less time, if the rows of the
    matrix lie in memory one after another, or if sums are long: 49 x 3072 x 768 takes a
    kernel 1.35 times as long.
    """
    *_, rows, columns = product.shape
    if str(product.element) != "f32" or not _are_known(columns, product.depth):
        return False
    if product.depth > MOST_SUMMANDS:
        return False
    rows = GUESSED_SIZE if isinstance(rows, Dim) else rows
    matrix = columns * product.depth
    if matrix <= LARGE_MATRIX:
        return True
    if rows <= FEW_ROWS and not _is_along_depth(product):
        return False
    if rows < MANY_ROWS and product.depth >= LONG_DEPTH:
        return False
    return rows * matrix <= options.most_multiplications


def _are_known(*sizes: Size) -> bool:
    return not any(isinstance(size, Dim) for size in sizes)


def _is_narrow(product: Product, most: int) -> bool:
    """Whether few rows leave a product to memory, and columns enough to all processors.

    Measured on an H100 (2026-11-26, bfloat16, weights not in the cache): with one row
    kernels take 0.46 to 0.92 of the library's time, with 4 and 16 rows 0.75 to 0.98,
    where the summands of the weights lie side by side; 0.92 to 1.04 where they do not.
    """
    *batch, rows, columns = product.shape
    sizes = (rows, columns, product.depth)
    if batch or any(isinstance(size, Dim) for size in sizes):
        return False
    if rows == 1:
        return product.is_half or _is_along_depth(product)
    return product.is_half and rows <= most and product.depth <= LONG_SUMS * columns


def _is_along_depth(product: Product) -> bool:
    """Whether the right operand is a transposed view of another tensor, as weights."""
    owner = product.rhs.owner
    if isinstance(owner, ir.Block):
        return False
    return owner.opview.operation.name == "graph.permute"
