"""``write-out-vector-products``: products of one row are sums that kernels compute.

Such a product reads its matrix once and does little else, so its limit is memory. ATen
leaves a part of that limit unused, most where elements are narrow: a row of 768 bf16
elements times 16384 x 768 took 7.6 ms, and a kernel of girih 1.1 ms; float32 matrices
of 7 kB to 9 MB took 1.2 to 1.7 times as long as in a kernel (one thread of an AMD EPYC
with AVX-512, 2026-11-26 and 27). A matrix that is computed, such as int8 weights times
scales, need not be stored at all.

Requires: library ops and primitives, as ``decompose`` leaves them.
Establishes: with ``target=cpu``, no ``graph.mm``, ``addmm`` or ``linear`` multiplies
one row by a matrix of f32, bf16 or f16, but for wide ones of f32 whose columns are
summed, and matrices that elementwise ops compute for several ops. Otherwise nothing
changes.

Before::

    %0 = "graph.permute"(%w) {permutation = array<i64: 1, 0>} : ...
    %1 = "graph.mm"(%x, %0) : (tensor<1x768xbf16>, tensor<768x512xbf16>)
        -> tensor<1x512xbf16>

After::

    %0 = "graph.mul"(%wide_x, %wide_w) : (tensor<1x768xf32>, tensor<512x768xf32>) -> ...
    %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : ...
    %2 = "graph.cast"(%1) : (tensor<512x1xf32>) -> tensor<512x1xbf16>
    %3 = "graph.reshape"(%2) : (tensor<512x1xbf16>) -> tensor<1x512xbf16>

It leaves tiny products alone.
"""

from __future__ import annotations

from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Dim
from girih.dialects.traits import Trait
from girih.passes.graph_builder import (
    GraphBuilder,
    erase_dead_ops,
    function_bodies,
    has_one_use,
)
from girih.passes.registry import register_pass
from girih.passes.select_products import Product, read_product

LEAST_ELEMENTS = 1 << 10
"""Of the matrix: for less a kernel is not worth compiling."""
MOST_COLUMNS = 1 << 12
"""Of a matrix of f32 whose columns are summed: MKL reads wider ones from memory faster.
One row by 1024 x 32768 took 7.2 ms in a kernel, 5.2 in MKL; by 4096 x 3072 2.2 and 2.0,
and by 768 x 3072, which the cache held, 0.15 and 0.22 (2026-11-28)."""
_ELEMENTS = ("f32", "bf16", "f16")


@dataclass(frozen=True)
class VectorProductOptions:
    """Options of the pass."""

    target: str = ""
    """``cpu``, or nothing for no change."""


@register_pass("write-out-vector-products", options=VectorProductOptions)
def run(op: ir.Operation, options: VectorProductOptions) -> None:
    """Replaces products of one row."""
    if options.target != "cpu":
        return
    for block in function_bodies(op):
        found = [inner for inner in block.operations if _is_replaced(inner)]
        for inner in found:
            # Read again: a product before it has given way to another value.
            _replace(inner, _read(inner))
        if found:
            erase_dead_ops(block)


def _read(op: ir.OpView) -> Product | None:
    """The product that an op computes, by a matrix as it lies."""
    product = read_product(op)
    if product is None or not product.turned:
        return product
    turned = GraphBuilder(op).producer(product.weight, "permute")
    if turned is None:
        return product
    if tuple(turned.permutation) != (1, 0):
        return None
    return Product(product.x, turned.operands[0], False, product.bias)


def _is_replaced(op: ir.OpView) -> bool:
    """Whether an op is a product that a kernel should compute."""
    product = _read(op)
    if product is None or not _gains(product):
        return False
    # Several kernels would each compute the matrix.
    given = read_product(op).weight
    is_own = given == product.weight or has_one_use(given)
    is_shared = not is_own or not has_one_use(product.weight)
    return not (is_shared and _is_elementwise(product.weight))


def _gains(product: Product) -> bool:
    """Whether a kernel multiplies one row by this matrix faster than ATen."""
    element = str(product.weight.type.element_type)
    sizes = (*ty.shape_of(product.x.type)[:-1], *ty.shape_of(product.weight.type))
    if element not in _ELEMENTS or any(isinstance(size, Dim) for size in sizes):
        return False
    *rows, columns, depth = sizes
    if any(row != 1 for row in rows) or columns * depth < LEAST_ELEMENTS:
        return False
    is_summed_along = product.turned and element == "f32"
    return not is_summed_along or depth <= MOST_COLUMNS


def _is_elementwise(value: ir.Value) -> bool:
    owner = value.owner
    return not isinstance(owner, ir.Block) and has(owner, Trait.ELEMENTWISE)


def _replace(op: ir.OpView, product: Product) -> None:
    b = GraphBuilder(op)
    result = op.results[0].type
    along = 0 if product.turned else 1
    shape = list(ty.shape_of(product.weight.type))
    row, sums = [1, 1], list(shape)
    row[along], sums[along] = shape[along], 1
    x = b.widened(b.reshape(product.x, tuple(row)))
    y = b.op("reduce_sum", b.op("mul", x, b.widened(product.weight)), dims=(along,))
    if product.bias is not None:
        y = b.op("add", y, b.widened(b.reshape(product.bias, tuple(sums))))
    y = b.cast(y, result.element_type)
    b.replace(op, b.reshape(y, ty.shape_of(result)))
