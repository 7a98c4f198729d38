"""Scans, sorting and selecting as ATen calls."""

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir

from .rules import AtenCall, calls_aten, dtype_of


@calls_aten("graph.cumsum", "graph.cumprod")
def call_running_total(op: ir.OpView) -> AtenCall:
    """`cumsum` or `cumprod` in the dtype of the result."""
    dtype = {"dtype": dtype_of(op.results[0])}
    name = f"aten.{op.SHORT_NAME}.default"
    return AtenCall(name, (OperandRef(0), op.dim), dtype)


@calls_aten("graph.logcumsumexp")
def call_logcumsumexp(op: ir.OpView) -> AtenCall:
    """`logcumsumexp`."""
    return AtenCall("aten.logcumsumexp.default", (OperandRef(0), op.dim))


@calls_aten("graph.cummax", "graph.cummin")
def call_running_extremum(op: ir.OpView) -> AtenCall:
    """`cummax` or `cummin`."""
    return AtenCall(f"aten.{op.SHORT_NAME}.default", (OperandRef(0), op.dim))


@calls_aten("graph.topk")
def call_topk(op: ir.OpView) -> AtenCall:
    """`topk` along one dim."""
    arguments = (OperandRef(0), op.k, op.dim, op.largest, op.sorted)
    return AtenCall("aten.topk.default", arguments)


@calls_aten("graph.sort")
def call_sort(op: ir.OpView) -> AtenCall:
    """`sort`, stable or not."""
    options = {"stable": op.stable, "dim": op.dim, "descending": op.descending}
    return AtenCall("aten.sort.stable", (OperandRef(0),), options)
