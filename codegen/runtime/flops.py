"""Floating-point operations of products and convolutions, of their shapes.

A multiplication and an addition are two operations. Sums of a bias, and what a library
computes on the way, are not counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from girih.dialects import host
from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir
from girih.dialects.dims import Size, product
from girih.dialects.types import buffer_parts, is_buffer

Shape = Sequence[Size]

PRODUCTS = {
    "aten.addmm": 1,
    "aten.addmv": 1,
    "aten.baddbmm": 1,
    "aten.bmm": 0,
    "aten.dot": 0,
    "aten.mm": 0,
    "aten.mv": 0,
    "mkldnn._linear_pointwise": 0,
}
"""Operator -> which argument is the factor whose last dim is summed."""

CONVOLUTIONS = ("aten.convolution", "mkldnn._convolution_pointwise")
"""Operators with the arguments input and weight, in this order or around a sum's."""

_GRADIENTS = "aten.convolution_backward"


def flops_of_call(op: ir.OpView) -> int | None:
    """Those of a `host.extern`; None where unknown."""
    name, _, overload = op.op.rpartition(".")
    if name in PRODUCTS:
        inner = _shape_of(op, PRODUCTS[name])
        return _known([2, *_shape(op.results[0]), inner[-1]]) if inner else None
    if name in CONVOLUTIONS:
        has_sum = name.startswith("mkldnn") and overload.startswith("binary")
        source, weight = _shape_of(op, 0), _shape_of(op, 2 if has_sum else 1)
        made = _shape(op.results[0])
        return _convolution(source, weight, made, _is_transposed(op, name, 6))
    if name == _GRADIENTS:
        cotangent, source, weight = (_shape_of(op, place) for place in range(3))
        once = _convolution(source, weight, cotangent, _is_transposed(op, name, 7))
        wanted = op.args[-1]
        return None if once is None else once * sum(map(bool, wanted[:2]))
    return None


def flops_of_launch(op: ir.OpView) -> int | None:
    """Those of a `host.launch` of a library's product; None for kernels."""
    if op.kernel not in (host.MATMUL, host.MATMUL_ADD):
        return None
    return _known([2, *_shape(op.operands[-1]), _shape(op.operands[0])[-1]])


def _convolution(
    source: Shape, weight: Shape, made: Shape, transposed: bool
) -> int | None:
    """Each element of one side meets the weights of one of its channels."""
    if not source or not weight or not made:
        return None
    return _known([2, *(source if transposed else made), *weight[1:]])


def _is_transposed(op: ir.OpView, name: str, place: int) -> bool:
    return name.startswith("aten") and bool(op.args[place])


def _shape_of(op: ir.OpView, place: int) -> Shape:
    """The shape of an argument; () where it is no tensor of the program."""
    match op.args[place]:
        case OperandRef(index):
            return _shape(op.operands[index])
    return ()


def _shape(value: ir.Value) -> Shape:
    return buffer_parts(value.type).shape if is_buffer(value.type) else ()


def _known(sizes: Sequence[Size]) -> int | None:
    count = product(sizes)
    return count if isinstance(count, int) else None
