"""Which products become kernels where nothing was measured."""

from __future__ import annotations

from dataclasses import dataclass

from girih.passes.fuse_contractions.epilogue import Group
from girih.passes.fuse_contractions.products import Product

TUNING = "girih.tuning"
LIBRARY = "girih.library"
PRODUCTS = ("none", "narrow", "all")


@dataclass(frozen=True)
class Options:
    """Options of the pass."""

    products: str = "none"
    """Products that become kernels unmeasured: ``none``, ``narrow`` (so few rows that
    reading the other matrix is all the work), or ``all``."""
    narrow_rows: int = 16
    """Rows that a narrow product has at most."""


def is_chosen(group: Group, options: Options) -> bool:
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
    if options.products == "narrow":
        return all(_is_narrow(each, options.narrow_rows) for each in group.products)
    return options.products == "all"


def _is_narrow(product: Product, most: int) -> bool:
    *batch, rows, _ = product.shape
    is_small = not batch and isinstance(rows, int) and rows <= most
    return is_small and product.is_half
