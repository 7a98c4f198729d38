"""Which products become kernels where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects.bindings import ir
from girih.dialects.dims import Dim
from girih.passes.fuse_contractions.epilogue import Group
from girih.passes.fuse_contractions.products import Product

TUNING = "girih.tuning"
LIBRARY = "girih.library"
# Sums of so many times more elements than there are columns are better split, as the
# library does it.
LONG_SUMS = 4
PRODUCTS = ("none", "small", "all")


@dataclass(frozen=True)
class ContractionOptions:
    """ContractionOptions of the pass."""

    products: str = "none"
    """Products that become kernels without a measurement: ``none``, ``small`` or
    ``all``. A product is small if calling the library takes most of its time, or if it
    has few rows, so that reading the other matrix does."""
    narrow_rows: int = 16
    """Most rows of a product that is small because it has few of them."""


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
    return options.products == "all"


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
