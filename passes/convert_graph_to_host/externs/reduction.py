"""Reductions as ATen calls; reduced dims stay with size 1."""

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir

from .rules import AtenCall, NoRule, calls_aten, dtype_of

_OVER_DIMS = {
    "graph.reduce_all": "aten.all.dims",
    "graph.reduce_any": "aten.any.dims",
    "graph.reduce_max": "aten.amax.default",
    "graph.reduce_min": "aten.amin.default",
}
_OVER_DIM = {
    "graph.argmax": "aten.argmax.default",
    "graph.argmin": "aten.argmin.default",
}


@calls_aten(*_OVER_DIMS)
def call_over_dims(op: ir.OpView) -> AtenCall:
    """Reductions over several dims that keep the dtype."""
    return AtenCall(_OVER_DIMS[op.name], (OperandRef(0), op.dims, True))


@calls_aten(*_OVER_DIM)
def call_over_dim(op: ir.OpView) -> AtenCall:
    """`argmax` and `argmin`."""
    return AtenCall(_OVER_DIM[op.name], (OperandRef(0), op.dim, True))


@calls_aten("graph.reduce_sum")
def call_sum(op: ir.OpView) -> AtenCall:
    """`sum` in the dtype of the result."""
    dtype = {"dtype": dtype_of(op.results[0])}
    return AtenCall("aten.sum.dim_IntList", (OperandRef(0), op.dims, True), dtype)


@calls_aten("graph.reduce_prod")
def call_prod(op: ir.OpView) -> AtenCall:
    """`prod`, which takes one dim."""
    if len(op.dims) != 1:
        rule = "of complex numbers is computed over one dim"
        raise NoRule(f"'{op.name}' {rule}, got {len(op.dims)}")
    (dim,) = op.dims
    dtype = {"dtype": dtype_of(op.results[0])}
    return AtenCall("aten.prod.dim_int", (OperandRef(0), dim, True), dtype)
