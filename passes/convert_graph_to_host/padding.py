"""Rows that begin at multiples of 16 bytes, for products of matrices on GPUs.

Tensor cores are fed by loads of 16 bytes. A matrix of 8192 x 50257 bfloat16 values,
whose rows are no multiple of that, is multiplied at 95 TFLOP/s, and at 600 where its
rows are padded to 50264 (H200, cuBLAS 13). So the results of products, and what
kernels make for products, have padded rows; who returns them copies them.
"""

from __future__ import annotations

from girih.dialects.bindings import ir
from girih.dialects.definition import has
from girih.dialects.dims import Size
from girih.dialects.traits import PRODUCT
from girih.dialects.types import byte_width, contiguous_strides, element_of, shape_of

from .kernel_ops import runs_in_kernel

_ALIGNMENT = 16
_LEAST_BYTES = 1 << 18
# A product pays for the copy of its result from about 56 multiplications an element on.
_LEAST_DEPTH = 128


def padded_strides(type_: ir.Type) -> tuple[int, ...] | None:
    """The strides of a matrix with padded rows; None where that gains nothing."""
    shape, element = shape_of(type_), element_of(type_)
    if str(element) not in ("bf16", "f16") or len(shape) < 2:
        return None
    if not all(isinstance(size, int) and size > 0 for size in shape):
        return None
    group = _ALIGNMENT // byte_width(element)
    *outer, last = shape
    padded = -(-last // group) * group
    strides = contiguous_strides((*outer, padded))
    is_large = strides[0] * outer[0] * byte_width(element) >= _LEAST_BYTES
    return strides if padded != last and is_large and strides[0] > 1 else None


def padded_result(op: ir.OpView) -> tuple[int, ...] | None:
    """The strides of a product's result, None where they are not padded."""
    if not has(op, PRODUCT):
        return None
    lhs = op.x if op.operation.name == "graph.linear" else op.lhs
    depth = shape_of(lhs.type)[-1]
    if not isinstance(depth, int) or depth < _LEAST_DEPTH:
        return None
    return padded_strides(op.results[0].type)


def padded_operands(block: ir.Block) -> dict[ir.Value, tuple[Size, ...]]:
    """The values that kernels make for products, with their strides."""
    found: dict[ir.Value, tuple[Size, ...]] = {}
    for op in block.operations:
        if not has(op, PRODUCT):
            continue
        for value in map(_source, op.operands):
            strides = None if value is None else padded_strides(value.type)
            if strides is not None:
                found[value] = strides
    return found


def _source(value: ir.Value) -> ir.Value | None:
    """The result of a kernel that a value is, or is a view of with the same rows."""
    while not isinstance(value.owner, ir.Block):
        op = value.owner.opview
        if not keeps_rows(op):
            return value if runs_in_kernel(op) else None
        value = op.operands[0]
    return None


def keeps_rows(op: ir.OpView) -> bool:
    """Whether an op is a view of whole rows, which may have become columns."""
    if op.operation.name == "graph.reshape":
        shapes = [shape_of(value.type) for value in (op.operands[0], op.results[0])]
        return all(shapes) and shapes[0][-1] == shapes[1][-1]
    return op.operation.name == "graph.permute"
