"""Which calls of ATen are products that the library can compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.types import BufferParts, buffer_parts
from girih.passes.convert_graph_to_host import layout as layouts
from girih.passes.mark_aligned_arguments import is_aligned

Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""Sizes and strides."""

Matrix = tuple[ir.Value, Layout]
"""A buffer, and the layout in which it is a matrix (or a batch of them)."""

_ELEMENTS = ("bf16", "f16", "f32", "f64")


@dataclass(frozen=True)
class Product:
    """result = a @ b + bias.

    Attributes:
        a: [..., rows, depth].
        b: [..., depth, columns].
        bias: of [columns], or None.
    """

    a: Matrix
    b: Matrix
    bias: ir.Value | None = None


def product_of(call: ir.OpView) -> Product | None:
    """The product that an op of the launch program computes, or None."""
    if call.operation.name != "host.extern" or call.op not in _PRODUCTS:
        return None
    is_odd = any(not isinstance(given, OperandRef | None) for given in call.args)
    if is_odd or call.kwargs:
        return None
    values = [None if ref is None else call.operands[ref.index] for ref in call.args]
    return _PRODUCTS[call.op](*values)


def layout_of(value: ir.Value) -> Layout:
    """Sizes and strides of a buffer."""
    parts = buffer_parts(value.type)
    return tuple(parts.shape), tuple(parts.strides)


def _of_mm(a: ir.Value, b: ir.Value) -> Product:
    return Product((a, layout_of(a)), (b, layout_of(b)))


def _of_addmm(bias: ir.Value, a: ir.Value, b: ir.Value) -> Product | None:
    columns = buffer_parts(b.type).shape[-1:]
    if tuple(buffer_parts(bias.type).shape) != tuple(columns):
        return None
    return Product((a, layout_of(a)), (b, layout_of(b)), bias)


def _of_linear(
    x: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> Product | None:
    shape, strides = layout_of(weight)
    rows = flattened(*layout_of(x))
    if len(shape) != 2 or rows is None:
        return None
    return Product((x, rows), (weight, (shape[::-1], strides[::-1])), bias)


def flattened(shape: tuple, strides: tuple) -> Layout | None:
    """A tensor as a matrix of its last dim, where its other dims lie in one stride."""
    if len(shape) < 2:
        return None
    rows = (math.prod(shape[:-1]), shape[-1])
    found = layouts.reshape(layouts.Layout(shape, strides), rows)
    return None if found is None else (found.shape, found.strides)


_PRODUCTS: dict[str, Callable[..., Product | None]] = {
    "aten.addmm.default": _of_addmm,
    "aten.bmm.default": _of_mm,
    "aten.linear.default": _of_linear,
    "aten.mm.default": _of_mm,
}


def is_plain(product: Product, result: ir.Value) -> bool:
    """Whether the library takes a product as it lies."""
    parts = buffer_parts(result.type)
    matrices = [product.a[1], product.b[1]]
    numbers = [n for layout in matrices for part in layout for n in part]
    numbers += [*parts.shape, *parts.strides]
    if str(parts.element_type) not in _ELEMENTS:
        return False
    if not all(isinstance(n, int) for n in numbers) or not _has_dense_rows(parts):
        return False
    if any(0 in shape or not _is_dense(shape, strides) for shape, strides in matrices):
        return False
    values = [product.a[0], product.b[0]]
    if product.bias is not None:
        values.append(product.bias)
        if tuple(buffer_parts(product.bias.type).strides) != (1,):
            return False
    return all(is_aligned(value) for value in values)


def _has_dense_rows(parts: BufferParts) -> bool:
    """Whether rows are contiguous and lie one after another in one stride."""
    rows = flattened(tuple(parts.shape), tuple(parts.strides))
    if rows is None:
        return False
    (count, columns), (down, right) = rows
    return (columns == 1 or right == 1) and (count == 1 or down >= columns)


def _is_dense(shape: tuple, strides: tuple) -> bool:
    """Whether rows or columns are contiguous and do not overlap."""
    rows, columns = shape[-2:]
    down, right = strides[-2:]
    return (
        (columns == 1 or right == 1)
        and (rows == 1 or down >= columns)
        or (rows == 1 or down == 1)
        and (columns == 1 or right >= rows)
    )
