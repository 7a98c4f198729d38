"""``write-out-vector-products``: products of one row are sums that kernels compute.

Such a product reads its matrix once and does little else, so its limit is memory. ATen
leaves a part of that limit unused where elements are narrow: a row of 768 bf16 elements
times 16384 x 768 took 7.6 ms, and a kernel of girih 1.1 ms (one thread of an AMD EPYC
with AVX-512, 2026-11-26). A matrix that is computed, such as int8 weights times scales,
need not be stored at all.

Requires: library ops and primitives, as ``decompose`` leaves them.
Establishes: with ``target=cpu``, no large ``graph.mm``, ``addmm`` or ``linear``
multiplies one row by rows of bf16 or f16 that lie one after the other, or by rows that
elementwise ops compute for this product alone. Otherwise nothing changes.

Before::

    %0 = "graph.permute"(%w) {permutation = array<i64: 1, 0>} : ...
    %1 = "graph.mm"(%x, %0) : (tensor<1x768xbf16>, tensor<768x512xbf16>)
        -> tensor<1x512xbf16>

After::

    %0 = "graph.mul"(%wide_x, %wide_w) : (tensor<1x768xf32>, tensor<512x768xf32>) -> ...
    %1 = "graph.reduce_sum"(%0) {dims = array<i64: 1>} : ...
    %2 = "graph.cast"(%1) : (tensor<512x1xf32>) -> tensor<512x1xbf16>
    %3 = "graph.reshape"(%2) : (tensor<512x1xbf16>) -> tensor<1x512xbf16>

It leaves small products alone, and those whose matrix lies the other way, for which a
sum along columns would be needed. It leaves float32 matrices to the library: it is as
fast there.
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

LEAST_ELEMENTS = 1 << 18
"""Of the matrix: less is read in the time that a call of a library takes."""
_NARROW = ("bf16", "f16")


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
        found = [(inner, _product_of(inner)) for inner in block.operations]
        products = [(inner, x) for inner, x in found if x is not None]
        for inner, product in products:
            _replace(inner, product)
        if products:
            erase_dead_ops(block)


def _product_of(op: ir.Operation | ir.OpView) -> Product | None:
    """The product that an op computes, if a kernel should."""
    product = read_product(op)
    if product is None:
        return None
    if product.turned:
        turned = GraphBuilder(op).producer(product.weight, "permute")
        if turned is None or tuple(turned.permutation) != (1, 0):
            return None
        is_own = has_one_use(product.weight)
        product = Product(product.x, turned.operands[0], False, product.bias)
    else:
        is_own = True
    if not _is_large_vector(product):
        return None
    element = str(product.weight.type.element_type)
    is_computed = is_own and _is_elementwise(product.weight)
    is_right = element in _NARROW or (element == "f32" and is_computed)
    return product if is_right else None


def _is_large_vector(product: Product) -> bool:
    sizes = (*ty.shape_of(product.x.type)[:-1], *ty.shape_of(product.weight.type))
    if any(isinstance(size, Dim) for size in sizes):
        return False
    *rows, columns, depth = sizes
    return all(row == 1 for row in rows) and columns * depth >= LEAST_ELEMENTS


def _is_elementwise(value: ir.Value) -> bool:
    """Whether an op computes the value for one product alone."""
    op = value.owner
    if isinstance(op, ir.Block) or not has_one_use(value):
        return False
    return has(op, Trait.ELEMENTWISE)


def _replace(op: ir.OpView, product: Product) -> None:
    b = GraphBuilder(op)
    result = op.results[0].type
    columns, depth = ty.shape_of(product.weight.type)
    x = b.widened(b.reshape(product.x, (1, depth)))
    y = b.op("reduce_sum", b.op("mul", x, b.widened(product.weight)), dims=(1,))
    if product.bias is not None:
        y = b.op("add", y, b.widened(b.reshape(product.bias, (columns, 1))))
    y = b.cast(y, result.element_type)
    b.replace(op, b.reshape(y, ty.shape_of(result)))
