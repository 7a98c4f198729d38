"""The launches of a product."""

from __future__ import annotations

import math

from girih.dialects import host
from girih.dialects.bindings import ir
from girih.dialects.types import buffer_parts, buffer_type
from girih.passes.launch_products.product import Matrix, Product, flattened, layout_of

# Elements of 16 bits in the widest load.
GROUP = 8
_LEAST_SPLIT = 1024
_LEAST_MULTIPLICATIONS = 1 << 32


def launch(call: ir.OpView, product: Product) -> None:
    """Replaces a call by the launches of a product: one, or those of its blocks."""
    with call.location, ir.InsertionPoint(call):
        result = host.build("alloc", [], results=[call.results[0].type]).results[0]
        launch_blocks(product, matrix_of(call, result))
    call.results[0].replace_all_uses_with(result)
    call.operation.erase()


def matrix_of(call: ir.OpView, result: ir.Value) -> Matrix:
    """A call's result as a matrix, or a batch of them."""
    layout = layout_of(result)
    is_linear = call.op == "aten.linear.default"
    return result, (flattened(*layout) if is_linear else layout)


def launch_blocks(
    product: Product, result: Matrix, rows: tuple[int, int] | None = None
) -> None:
    """Launches a product, in blocks where that is faster.

    Args:
        product: whose launches are built where ops are inserted now.
        result: the matrix that is written.
        rows: begin and end of those of the product that ``result`` has; all by default.
    """
    a, b = product.a, product.b
    sizes = (*result[1][0][-2:], a[1][0][-1])
    down, right, inner = [_blocks(size, _is_split(a[0], sizes)) for size in sizes]
    first = 0 if rows is None else rows[0]
    for top, bottom in down:
        for columns in right:
            for depth in inner:
                buffers = [
                    block(a, (first + top, first + bottom), depth),
                    block(b, depth, columns),
                ]
                if product.bias is not None and depth[0] == 0:
                    bias = (product.bias, layout_of(product.bias))
                    buffers.append(block(bias, None, columns))
                buffers.append(block(result, (top, bottom), columns))
                kernel = host.MATMUL if depth[0] == 0 else host.MATMUL_ADD
                host.build("launch", [buffers], {"kernel": kernel, "outputs": 1})


def _is_split(value: ir.Value, sizes: tuple[int, int, int]) -> bool:
    element = str(buffer_parts(value.type).element_type)
    return element in ("bf16", "f16") and math.prod(sizes) >= _LEAST_MULTIPLICATIONS


def _blocks(size: int, is_split: bool) -> list[tuple[int, int]]:
    """Begin and end of a dim's blocks: a multiple of 8, and what is left."""
    rest = size % GROUP
    if not is_split or rest == 0 or size < _LEAST_SPLIT:
        return [(0, size)]
    return [(0, size - rest), (size - rest, size)]


def block(
    matrix: Matrix,
    down: tuple[int, int] | None,
    right: tuple[int, int],
) -> ir.Value:
    """A part of a matrix (or of each of a batch), or of a vector."""
    value, (shape, strides) = matrix
    taken = [right] if down is None else [down, right]
    outer = len(shape) - len(taken)
    sizes = (*shape[:outer], *(end - begin for begin, end in taken))
    starts = zip(taken, strides[outer:], strict=True)
    offset = sum(begin * stride for (begin, _), stride in starts)
    if (sizes, strides, offset) == (*layout_of(value), 0):
        return value
    type_ = buffer_type(sizes, strides, buffer_parts(value.type).element_type)
    view = host.build("view", [value], {"offset": offset}, results=[type_])
    return view.results[0]
