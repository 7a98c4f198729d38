"""launch-products: products of matrices stand in launch tables, beside kernels.

``aten.mm`` and the like cost the host more than the launch of a kernel. A product whose
sizes are known is planned when the program is built, and launched with the kernels
around it by one native call; its result is a buffer like any other.

Requires:
    A launch program as `convert-graph-to-host` makes it, before `group-launches`.

Establishes:
    With ``library=cublaslt``, a `host.extern` of ``aten.mm``, ``bmm``, ``addmm`` or
    ``linear`` is a `host.launch` of `@matmul`, which is no kernel of the module: its
    buffers are two matrices (or batches of them), a bias or none, and the result, whose
    rows are contiguous, though there may be gaps between them.

Before::

    %0 = host.extern (%b, %x, %y) {op = "aten.addmm.default"}

After::

    %0 = host.alloc
    host.launch (%x, %y, %b, %0) {kernel = @matmul, outputs = 1}

Large products of 16-bit floats are split where a size is no multiple of 8: of 8192 x
768 x 50257, cuBLAS makes 95 TFLOP/s, of 8192 x 768 x 50256 it makes 770, whatever the
distance of rows (H200, cuBLAS 13). The rest is a product of its own, `@matmul_add`
where it has to be added.

It leaves to ATen what has symbolic or empty sizes, factors, other dtypes, a bias that
is no vector, and matrices that are not dense along a dim or begin at odd addresses.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from girih.dialects import host
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.types import BufferParts, buffer_parts, buffer_type
from girih.passes.mark_aligned_arguments import is_aligned
from girih.passes.registry import register_pass

_ELEMENTS = ("bf16", "f16", "f32", "f64")
# Elements of 16 bits in the widest load.
_GROUP = 8
_LEAST_SPLIT = 1024
_LEAST_MULTIPLICATIONS = 1 << 32
_Layout = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class LaunchProductsOptions:
    """Options of `launch-products`."""

    library: str = "aten"
    """``cublaslt``, or ``aten``: nothing changes."""


@dataclass(frozen=True)
class Product:
    """result = a @ b + bias.

    Attributes:
        a: buffer and the layout in which it is [..., rows, depth].
        b: buffer and the layout in which it is [..., depth, columns].
        bias: of [columns], or None.
    """

    a: tuple[ir.Value, _Layout]
    b: tuple[ir.Value, _Layout]
    bias: ir.Value | None = None


@register_pass("launch-products", options=LaunchProductsOptions)
def run(op: ir.OpView, options: LaunchProductsOptions) -> None:
    """Turns calls of ATen that are products into launches."""
    if options.library == "aten":
        return
    if options.library != "cublaslt":
        raise ValueError(f"library must be aten or cublaslt, got {options.library!r}")
    for function in op.regions[0].blocks[0].operations:
        if function.operation.name != "func.func":
            continue
        for call in list(function.operation.regions[0].blocks[0].operations):
            product = product_of(call)
            if product is not None and is_plain(product, call.results[0]):
                launch(call, product)


# What is a product -----------------------------------------------------------------


def product_of(call: ir.OpView) -> Product | None:
    """The product that an op of the launch program computes, or None."""
    if call.operation.name != "host.extern" or call.op not in _PRODUCTS:
        return None
    is_odd = any(not isinstance(given, OperandRef | None) for given in call.args)
    if is_odd or call.kwargs:
        return None
    values = [None if ref is None else call.operands[ref.index] for ref in call.args]
    return _PRODUCTS[call.op](*values)


def _layout(value: ir.Value) -> _Layout:
    parts = buffer_parts(value.type)
    return tuple(parts.shape), tuple(parts.strides)


def _of_mm(a: ir.Value, b: ir.Value) -> Product:
    return Product((a, _layout(a)), (b, _layout(b)))


def _of_addmm(bias: ir.Value, a: ir.Value, b: ir.Value) -> Product | None:
    columns = buffer_parts(b.type).shape[-1:]
    if tuple(buffer_parts(bias.type).shape) != tuple(columns):
        return None
    return Product((a, _layout(a)), (b, _layout(b)), bias)


def _of_linear(
    x: ir.Value, weight: ir.Value, bias: ir.Value | None = None
) -> Product | None:
    shape, strides = _layout(weight)
    rows = _flattened(*_layout(x))
    if len(shape) != 2 or rows is None:
        return None
    return Product((x, rows), (weight, (shape[::-1], strides[::-1])), bias)


def _flattened(shape: tuple, strides: tuple) -> _Layout | None:
    """A tensor as a matrix of its last dim, where its other dims lie in one stride."""
    if len(shape) < 2 or not all(isinstance(n, int) for n in (*shape, *strides)):
        return None
    *outer, last = shape
    step = strides[-2]
    expected = step
    for size, stride in zip(reversed(outer), reversed(strides[:-1]), strict=True):
        if size != 1 and stride != expected:
            return None
        expected *= size
    return (math.prod(outer), last), (step, strides[-1])


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
    """Whether rows are contiguous and lie behind each other in one stride."""
    rows = _flattened(tuple(parts.shape), tuple(parts.strides))
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


# Launches ---------------------------------------------------------------------------


def launch(call: ir.OpView, product: Product) -> None:
    """Replaces a call by the launches of a product: one, or those of its blocks."""
    with call.location, ir.InsertionPoint(call):
        result = host.build("alloc", [], results=[call.results[0].type]).results[0]
        is_linear = call.op == "aten.linear.default"
        layout = _flattened(*_layout(result)) if is_linear else _layout(result)
        _launch_blocks(product, (result, layout))
    call.results[0].replace_all_uses_with(result)
    call.operation.erase()


def _launch_blocks(product: Product, result: tuple[ir.Value, _Layout]) -> None:
    a, b = product.a, product.b
    sizes = (*result[1][0][-2:], a[1][0][-1])
    rows, columns, depth = [_blocks(size, _is_split(a[0], sizes)) for size in sizes]
    for down in rows:
        for right in columns:
            for inner in depth:
                buffers = [_block(a, down, inner), _block(b, inner, right)]
                if product.bias is not None and inner[0] == 0:
                    bias = (product.bias, _layout(product.bias))
                    buffers.append(_block(bias, None, right))
                buffers.append(_block(result, down, right))
                kernel = host.MATMUL if inner[0] == 0 else host.MATMUL_ADD
                host.build("launch", [buffers], {"kernel": kernel, "outputs": 1})


def _is_split(value: ir.Value, sizes: tuple[int, int, int]) -> bool:
    element = str(buffer_parts(value.type).element_type)
    return element in ("bf16", "f16") and math.prod(sizes) >= _LEAST_MULTIPLICATIONS


def _blocks(size: int, is_split: bool) -> list[tuple[int, int]]:
    """Begin and end of a dim's blocks: a multiple of 8, and what is left."""
    rest = size % _GROUP
    if not is_split or rest == 0 or size < _LEAST_SPLIT:
        return [(0, size)]
    return [(0, size - rest), (size - rest, size)]


def _block(
    matrix: tuple[ir.Value, _Layout],
    down: tuple[int, int] | None,
    right: tuple[int, int],
) -> ir.Value:
    """A part of a matrix (or of each of a batch), or of a vector."""
    value, (shape, strides) = matrix
    taken = [right] if down is None else [down, right]
    outer = len(shape) - len(taken)
    block = (*shape[:outer], *(end - begin for begin, end in taken))
    starts = zip(taken, strides[outer:], strict=True)
    offset = sum(begin * stride for (begin, _), stride in starts)
    if (block, strides, offset) == (*_layout(value), 0):
        return value
    type_ = buffer_type(block, strides, buffer_parts(value.type).element_type)
    view = host.build("view", [value], {"offset": offset}, results=[type_])
    return view.results[0]
