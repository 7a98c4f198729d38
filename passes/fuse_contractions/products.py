"""Library ops as products of matrices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size

# Sizes up to which a kernel is faster than the library's, on the device and, as it is
# one launch with what comes before and after, on the host (H200, 2026-11-20: float32
# 256^3 7.6 and 8.0 us, 512^3 16.1 and 14.2; bfloat16 512^3 3.8 and 4.3).
SMALL_SIZES = {"f32": 256, "f16": 512, "bf16": 512}
# Sizes up to which every block may compute its operands anew.
LEAST_SIZE = 128
_ELEMENTS = frozenset({"bf16", "f16", "f32"})


@dataclass(frozen=True)
class Product:
    """y = alpha * lhs @ rhs + beta * bias: [..., m, n] of [..., m, k] and [..., k, n].

    Attributes:
        op: the library op.
        bias: broadcasts to the result; None for none.
    """

    op: ir.OpView
    lhs: ir.Value
    rhs: ir.Value
    bias: ir.Value | None = None
    alpha: float = 1
    beta: float = 1

    @property
    def result(self) -> ir.Value:
        """What the op gives."""
        return self.op.results[0]

    @property
    def shape(self) -> tuple[Size, ...]:
        """The sizes of the result: a batch or none, rows, columns."""
        return ty.shape_of(self.result.type)

    @property
    def depth(self) -> Size:
        """Summands of each element."""
        return ty.shape_of(self.lhs.type)[-1]

    @property
    def element(self) -> ir.Type:
        """The element type of operands and result."""
        return self.result.type.element_type

    @property
    def is_half(self) -> bool:
        """Whether tensor cores multiply its elements as they are."""
        return str(self.element) in ("bf16", "f16")

    @property
    def is_small(self) -> bool:
        """Whether calling the library is most of the work, of sizes that are known."""
        return self.fits(SMALL_SIZES[str(self.element)])

    def fits(self, most: int) -> bool:
        """Whether no matrix is larger than a square one of this size, nor the work."""
        *batch, rows, columns = self.shape
        sizes = (*batch, rows, columns, self.depth)
        if any(isinstance(size, Dim) for size in sizes):
            return False
        is_short = max(rows, columns, self.depth) <= most
        return is_short and math.prod(sizes) <= most**3


def product_of(op: ir.OpView) -> Product | None:
    """The product that an op computes, if kernels can compute it."""
    read = _PRODUCTS.get(op.operation.name)
    if read is None or op.strides is not None:
        return None
    product = read(op)
    sizes = (*product.shape, product.depth)
    is_empty = any(isinstance(size, int) and size == 0 for size in sizes)
    is_real = not any(isinstance(each, complex) for each in _scales(product))
    fits = str(product.element) in _ELEMENTS and is_real and not is_empty
    return product if fits else None


def _scales(product: Product) -> tuple[float, float]:
    return product.alpha, product.beta


def _plain(op: ir.OpView) -> Product:
    return Product(op, op.lhs, op.rhs)


def _added(op: ir.OpView) -> Product:
    bias = None if op.beta == 0 else op.bias
    return Product(op, op.lhs, op.rhs, bias, op.alpha, op.beta)


_PRODUCTS: dict[str, Callable[[ir.OpView], Product]] = {
    "graph.addmm": _added,
    "graph.baddbmm": _added,
    "graph.bmm": _plain,
    "graph.mm": _plain,
}
