"""Which products become kernels where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass

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

    Measured on an H200 (2026-11-20) with 1 and 8 rows, kernels take 0.83 to 1.00 of the
    library's time, 0.89 where a bias and gelu follow; 1.07 of it with 4096 summands and
    1024 columns.
    """
    *batch, rows, columns = product.shape
    sizes = (rows, columns, product.depth)
    if batch or not product.is_half or any(isinstance(size, Dim) for size in sizes):
        return False
    return rows <= most and product.depth < LONG_SUMS * columns
