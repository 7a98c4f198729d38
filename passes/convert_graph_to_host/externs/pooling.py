"""Pooling as ATen calls."""

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir

from .rules import AtenCall, calls_aten


@calls_aten("graph.max_pool")
def call_max_pool(op: ir.OpView) -> AtenCall:
    """`max_poolNd_with_indices`."""
    windows = (op.kernel, op.stride, op.padding, op.dilation, op.ceil_mode)
    name = f"aten.max_pool{len(op.kernel)}d_with_indices.default"
    return AtenCall(name, (OperandRef(0), *windows))


@calls_aten("graph.avg_pool")
def call_avg_pool(op: ir.OpView) -> AtenCall:
    """`avg_poolNd`; in one dim it has no divisor of its own."""
    arguments = (
        OperandRef(0),
        op.kernel,
        op.stride,
        op.padding,
        op.ceil_mode,
        op.count_include_pad,
    )
    spatial = len(op.kernel)
    if spatial > 1:
        arguments = (*arguments, op.divisor or None)
    return AtenCall(f"aten.avg_pool{spatial}d.default", arguments)


_ADAPTIVE = {
    1: "aten.adaptive_avg_pool1d.default",
    2: "aten._adaptive_avg_pool2d.default",
    3: "aten._adaptive_avg_pool3d.default",
}


@calls_aten("graph.adaptive_avg_pool")
def call_adaptive_avg_pool(op: ir.OpView) -> AtenCall:
    """`adaptive_avg_poolNd`."""
    name = _ADAPTIVE[len(op.output_size)]
    return AtenCall(name, (OperandRef(0), op.output_size))
