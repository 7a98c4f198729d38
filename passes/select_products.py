"""``select-products``: which library multiplies large matrices.

``aten.mm`` ends in MKL, whose code for other vendors' processors has vectors of 256
bits. oneDNN, which torch calls for convolutions and half precision, uses what the
processor has: 2.2 times as fast for 1024 x 1024 x 256 on an AMD EPYC with AVX-512, and
faster from about 2^20 multiplications on (one thread, 2026-11-20).

Requires: library ops as ``decompose`` leaves them.
Establishes: with ``library=onednn`` large products of float32 matrices are calls of
``mkldnn._linear_pointwise``; with ``library=aten`` nothing changes.

Before::

    %0 = "graph.addmm"(%b, %x, %y) : (tensor<512xf32>, tensor<256x512xf32>,
        tensor<512x512xf32>) -> tensor<256x512xf32>

After::

    %0 = "graph.permute"(%y) {permutation = array<i64: 1, 0>} : ...
    %1 = "graph.extern"(%x, %0, %b) {op = "mkldnn._linear_pointwise.default", ...} : ...

oneDNN copies a first operand that is a transposed view, as those of the gradients of
weights are; ``convert-graph-to-host`` has a kernel do that. Where it is smaller, the
other operand is copied: the product is transposed.

It leaves alone batches of matrices, other dtypes, and small products, which a call of
oneDNN costs more than it saves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects import types as ty
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Dim, Size
from girih.passes.choices import named_text
from girih.passes.graph_builder import GraphBuilder, function_bodies
from girih.passes.registry import register_pass
from girih.passes.remarks import remark

ONEDNN_LINEAR = "mkldnn._linear_pointwise.default"
LEAST_MULTIPLICATIONS = 1 << 20
# Stands for a symbolic size: most often that of a batch, or of its tokens.
GUESSED_SIZE = 16


@dataclass(frozen=True)
class ProductOptions:
    """Options of the pass."""

    library: str = "aten"
    """``aten``, or ``onednn`` for products that oneDNN multiplies faster on this
    processor."""


@dataclass(frozen=True)
class Product:
    """y[..., n] = sum over k of x[..., k] * weight[n, k], plus bias[n].

    ``turned`` says that ``weight`` is given as [k, n].
    """

    x: ir.Value
    weight: ir.Value
    turned: bool
    bias: ir.Value | None = None


@register_pass("select-products", options=ProductOptions)
def run(op: ir.Operation, options: ProductOptions) -> None:
    """Chooses the library of each matrix product."""
    if options.library == "aten":
        remark(lambda: "no product changes: the option library is aten")
        return
    if options.library != "onednn":
        raise ValueError(f"library must be aten or onednn, got {options.library!r}")
    for block in function_bodies(op):
        for inner in list(block.operations):
            product = product_of(inner)
            if product is None:
                continue
            is_replaced = is_large(product)
            remark(lambda op=inner, large=is_replaced: _choice_text(op, large))
            if is_replaced:
                replace(inner, product)


def _choice_text(op: ir.OpView, is_large: bool) -> str:
    name = named_text(op)
    if is_large:
        return f"{name}: oneDNN's"
    return f"{name}: ATen's, with less than {LEAST_MULTIPLICATIONS} multiplications"


def product_of(op: ir.OpView) -> Product | None:
    """The product that an op computes, if oneDNN can compute it too."""
    product = read_product(op)
    if product is None or str(op.results[0].type.element_type) != "f32":
        return None
    return product


def read_product(op: ir.OpView) -> Product | None:
    """The product of a matrix, of any dtype, that an op computes."""
    read = _PRODUCTS.get(op.operation.name)
    return None if read is None or op.strides is not None else read(op)


def _of_mm(op: ir.OpView) -> Product:
    return Product(op.lhs, op.rhs, turned=True)


def _of_addmm(op: ir.OpView) -> Product | None:
    columns = ty.shape_of(op.rhs.type)[1:]
    if op.beta != 1 or op.alpha != 1 or ty.shape_of(op.bias.type) != columns:
        return None
    return Product(op.lhs, op.rhs, turned=True, bias=op.bias)


def _of_linear(op: ir.OpView) -> Product | None:
    if len(ty.shape_of(op.x.type)) < 2:
        return None
    return Product(op.x, op.weight, turned=False, bias=op.bias)


_PRODUCTS: dict[str, Callable[[ir.OpView], Product | None]] = {
    "graph.addmm": _of_addmm,
    "graph.linear": _of_linear,
    "graph.mm": _of_mm,
}


def is_large(product: Product) -> bool:
    """Whether a product is worth the call."""
    count = 1
    for size in (*ty.shape_of(product.x.type), _columns(product)):
        count *= _guess(size)
    return count >= LEAST_MULTIPLICATIONS


def _columns(product: Product) -> Size:
    return ty.shape_of(product.weight.type)[1 if product.turned else 0]


def _guess(size: Size) -> int:
    return GUESSED_SIZE if isinstance(size, Dim) else size


def replace(op: ir.OpView, product: Product) -> None:
    """Replaces an op by a call of oneDNN."""
    b = GraphBuilder(op)
    weight = product.weight
    if product.turned:
        weight = b.op("permute", weight, permutation=(1, 0))
    if is_cheaper_transposed(product):
        value = b.op("permute", _call(b, weight, product.x), permutation=(1, 0))
    else:
        value = _call(b, product.x, weight, product.bias)
    op.results[0].replace_all_uses_with(value)
    op.operation.erase()


def is_cheaper_transposed(product: Product) -> bool:
    """Whether less has to be copied for the transpose of the result.

    oneDNN wants rows of ``x`` to be contiguous, and does not mind how ``weight`` lies.
    In the gradient of a weight, ``x`` is a transposed view: it is copied, or else the
    other operand is, and the result.
    """
    if product.bias is not None or not product.turned or not _is_transposed(product.x):
        return False
    m, k = ty.shape_of(product.x.type)
    n = _columns(product)
    if any(isinstance(size, Dim) for size in (m, k, n)):
        return False
    other = 0 if _is_transposed(product.weight) else k * n
    return other + m * n < m * k


def _is_transposed(value: ir.Value) -> bool:
    op = value.owner
    return (
        not isinstance(op, ir.Block)
        and op.name == "graph.permute"
        and tuple(op.permutation) == (1, 0)
    )


def _call(
    b: GraphBuilder, x: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> ir.Value:
    operands = [x, weight] if bias is None else [x, weight, bias]
    added = None if bias is None else OperandRef(2)
    return b.typed(
        "extern",
        [operands],
        (*ty.shape_of(x.type)[:-1], ty.shape_of(weight.type)[0]),
        x.type.element_type,
        op=ONEDNN_LINEAR,
        args=(OperandRef(0), OperandRef(1), added, "none", (), ""),
    )
