"""Gathering and scattering as ATen calls."""

from girih.dialects.attributes import OperandRef
from girih.dialects.bindings import ir

from .rules import AtenCall, calls_aten


@calls_aten("graph.take")
def call_index(op: ir.OpView) -> AtenCall:
    """`index` with an index for one dim: its shape takes the place of the dim."""
    indices = (*(None,) * op.dim, OperandRef(1))
    return AtenCall("aten.index.Tensor", (OperandRef(0), indices))


@calls_aten("graph.gather")
def call_gather(op: ir.OpView) -> AtenCall:
    """`gather` along the same dim."""
    return AtenCall("aten.gather.default", (OperandRef(0), op.dim, OperandRef(1)))


@calls_aten("graph.scatter")
def call_scatter(op: ir.OpView) -> AtenCall:
    """`scatter` of a tensor."""
    x, index, source = (OperandRef(i) for i in range(3))
    return AtenCall("aten.scatter.src", (x, op.dim, index, source))


@calls_aten("graph.scatter_add")
def call_scatter_add(op: ir.OpView) -> AtenCall:
    """`scatter_add` along the same dim."""
    x, index, source = (OperandRef(i) for i in range(3))
    return AtenCall("aten.scatter_add.default", (x, op.dim, index, source))


@calls_aten("graph.accumulate")
def call_put(op: ir.OpView) -> AtenCall:
    """`put`, which counts elements as the op does."""
    arguments = (*(OperandRef(i) for i in range(3)), True)
    return AtenCall("aten.put.default", arguments)


@calls_aten("graph.index")
def call_index_of_dims(op: ir.OpView) -> AtenCall:
    """`index`, for what `decompose` cannot express by takes and gathers."""
    indices = _indices_by_dim(op.dims, first_operand=1)
    return AtenCall("aten.index.Tensor", (OperandRef(0), indices))


@calls_aten("graph.index_put")
def call_index_put(op: ir.OpView) -> AtenCall:
    """`index_put`; dims without an index get None."""
    indices = _indices_by_dim(op.dims, first_operand=2)
    arguments = (OperandRef(0), indices, OperandRef(1), op.accumulate)
    return AtenCall("aten.index_put.default", arguments)


def _indices_by_dim(
    dims: tuple[int, ...], first_operand: int
) -> tuple[OperandRef | None, ...]:
    position = {dim: first_operand + order for order, dim in enumerate(dims)}
    return tuple(
        OperandRef(position[dim]) if dim in position else None
        for dim in range(max(dims) + 1)
    )
